#include "lab/locality/sharing.hpp"

#include <algorithm>

namespace tessera::locality {
namespace {

/// Returns the mask of a line's bytes that an access touches; bits of lines over 64 bytes cover
/// several bytes.
std::uint64_t bytes_of(const Access& access, index_t line_bytes) {
  const auto line = static_cast<std::uint64_t>(line_bytes);
  const std::uint64_t unit = std::max<std::uint64_t>(1, line / 64);
  const std::uint64_t begin = access.address() % line;
  const std::uint64_t last = std::min(line, begin + access.bytes()) - 1;
  std::uint64_t mask = 0;
  for (std::uint64_t bit = begin / unit; bit <= last / unit; ++bit) mask |= std::uint64_t{1} << bit;
  return mask;
}

}  // namespace

SharingCaches::SharingCaches(int threads, index_t line_bytes)
    : line_(line_bytes), threads_(static_cast<std::size_t>(std::max(1, threads))) {}

void SharingCaches::touch(int thread, const Access& access) {
  if (!access.is_touch()) return;
  const auto me = static_cast<std::size_t>(thread);
  std::vector<Copy>& copies =
      lines_.try_emplace(line_.of(access.address()), threads_).first->second;
  const std::uint64_t bytes = bytes_of(access, line_.bytes());
  Copy& mine = copies[me];
  ++counts_.touches;
  if (mine.state == State::never) ++counts_.cold;
  if (mine.state == State::invalid)
    ++((mine.written & bytes) != 0 ? counts_.true_sharing : counts_.false_sharing);
  mine = {State::valid, 0};
  if (!access.is_store()) return;
  for (std::size_t other = 0; other < threads_; ++other) {
    if (other == me || copies[other].state == State::never) continue;
    copies[other].state = State::invalid;
    copies[other].written |= bytes;
  }
}

void SharingCaches::interleave(const std::vector<std::vector<Access>>& streams) {
  std::size_t longest = 0;
  for (const auto& stream : streams) longest = std::max(longest, stream.size());
  for (std::size_t i = 0; i < longest; ++i) {
    for (std::size_t thread = 0; thread < streams.size(); ++thread) {
      if (i < streams[thread].size()) touch(static_cast<int>(thread), streams[thread][i]);
    }
  }
}

}  // namespace tessera::locality
