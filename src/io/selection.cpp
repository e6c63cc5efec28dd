#include "io/selection.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/error.hpp"
#include "base/text.hpp"

namespace tessera::inline v1::io {
namespace {

[[noreturn]] void refuse(const std::string& words) {
  throw Error(
      ExitCode::usage,
      fmt::format(
          "'{}' is not a valid selection; write e.g. [0:1000,50:] or [3,:,-10:] (without steps)",
          words));
}

index_t parse_bound(std::string_view text, const std::string& words) {
  index_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) refuse(words);
  return value;
}

Pick parse_pick(const std::string& text, const std::string& words) {
  const auto colon = text.find(':');
  Pick pick;
  if (colon == std::string::npos) {
    pick.begin = parse_bound(text, words);
    pick.is_index = true;
    return pick;
  }
  const std::string begin = text.substr(0, colon), end = text.substr(colon + 1);
  if (!begin.empty()) pick.begin = parse_bound(begin, words);
  if (!end.empty()) pick.end = parse_bound(end, words);
  pick.to_the_end = end.empty();
  return pick;
}

}  // namespace

Selection cut_selection(std::string& path) {
  const auto open = path.rfind('[');
  if (open == std::string::npos || !path.ends_with(']')) return {};
  const std::string words = path.substr(open), inside = words.substr(1, words.size() - 2);
  if (inside.empty() || inside.find_first_not_of("0123456789:,- ") != std::string::npos) return {};
  Selection selection;
  for (const std::string& text : split(inside, ','))
    selection.push_back(parse_pick(std::string(trim(text)), words));
  path.resize(open);
  return selection;
}

std::vector<layout::Range> resolve(const Selection& selection, const std::vector<index_t>& extents,
                                   const std::string& name) {
  require(selection.size() <= extents.size(), ExitCode::usage,
          fmt::format("selection has {} dimensions: {} has {}", selection.size(), name,
                      extents.size()));
  std::vector<layout::Range> ranges;
  for (const index_t extent : extents) {
    const std::size_t d = ranges.size();
    const Pick pick = d < selection.size() ? selection[d] : Pick{};
    const auto from_end = [&](index_t bound) { return bound < 0 ? bound + extent : bound; };
    const index_t begin = from_end(pick.begin);
    const index_t end = pick.is_index
                            ? std::min(begin, extent) + 1  // avoids overflow for a huge index
                        : pick.to_the_end ? extent
                                          : from_end(pick.end);
    const std::string wanted =
        pick.is_index ? std::to_string(pick.begin) : fmt::format("{} to {}", begin, end);
    require(0 <= begin && begin <= end && end <= extent, ExitCode::usage,
            fmt::format("selection {} is outside dimension {} of {}, which has {} elements", wanted,
                        d, name, extent));
    ranges.push_back({begin, end});
  }
  return ranges;
}

std::vector<index_t> kept(const Selection& selection, const std::vector<index_t>& values) {
  std::vector<index_t> rest;
  for (std::size_t d = 0; d < values.size(); ++d)
    if (d >= selection.size() || !selection[d].is_index) rest.push_back(values[d]);
  return rest;
}

}  // namespace tessera::inline v1::io
