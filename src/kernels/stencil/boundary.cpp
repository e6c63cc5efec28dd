// Boundaries by name.

#include "kernels/stencil/boundary.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "base/error.hpp"
#include "base/option_names.hpp"
#include "base/text.hpp"

namespace tessera::inline v1::stencil {
namespace {

/// Returns the word without what libraries write differently: "BORDER_REFLECT_101", "grid-wrap".
std::string plain(std::string_view text) {
  std::string word;
  for (const char c : text)
    if (c != '_' && c != '-')
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (word.starts_with("border")) word.erase(0, 6);
  return word;
}

/// Returns whether the words, separated by blanks, have this one. Allocates nothing, so that calls
/// of the library may be repeated.
bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::string_view first = words.substr(0, words.find(' '));
    if (first == word) return true;
    words.remove_prefix(std::min(words.size(), first.size() + 1));
  }
  return false;
}

}  // namespace

Boundary parse_boundary(std::string_view text) {
  const std::string word = plain(text);
  for (const Boundary kind : boundaries) {
    const bool known = !word.empty() && has_word(info(kind).synonyms, word);
    if (name(kind) == word || known) return kind;
  }
  std::vector<std::string> names;
  for (const Boundary kind : boundaries) names.emplace_back(name(kind));
  throw Error::of_argument("boundary",
                           fmt::format("'{}' is unknown{}", text, suggestion(text, names)));
}

std::string boundary_usage() {
  std::string text;
  for (std::size_t i = 0; i < boundaries.size(); ++i) {
    if (i > 0) text += i + 1 < boundaries.size() ? ", " : " or ";
    text += info(boundaries[i]).usage;
  }
  return text;
}

void check_on_devices(const Sides& sides) {
  for (const auto& both : sides)
    for (const Side& side : both)
      require_argument(info(side.kind).on_devices, "boundary",
                       fmt::format("{} is not applied by GPU kernels; use {}", name(side.kind),
                                   option_or("--device cpu or a CPU kernel", "a CPU kernel")));
}

}  // namespace tessera::inline v1::stencil
