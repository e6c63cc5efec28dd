#include "lab/locality/optimal.hpp"

#include <algorithm>

namespace tessera::inline v1::locality {
namespace {

constexpr std::uint32_t never = ~std::uint32_t{0};

/// Returns per position i the position of the next touch of the same line.
std::vector<std::uint32_t> next_uses(std::span<const std::uint32_t> lines, std::uint32_t largest) {
  std::vector<std::uint32_t> seen(std::size_t{largest} + 1, never), next(lines.size());
  for (std::size_t i = lines.size(); i-- > 0;)
    next[i] = std::exchange(seen[lines[i]], static_cast<std::uint32_t>(i));
  return next;
}

/// Counts misses with a heap of resident lines by next use. An entry outdated by a later touch has
/// its use in the past and never reaches the top.
index_t misses_of(std::span<const std::uint32_t> lines, std::span<const std::uint32_t> next,
                  std::uint32_t largest, index_t size) {
  struct NextUse {
    std::uint32_t next, line;
    bool operator<(const NextUse& other) const { return next < other.next; }
  };
  std::vector<std::uint32_t> resident(std::size_t{largest} + 1, 0);  // next use + 1; 0: not
                                                                     // resident
  std::vector<NextUse> heap;
  index_t room = size, misses = 0;
  const auto key = [](std::uint32_t use) { return use == never ? never : use + 1; };
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::uint32_t line = lines[i];
    if (resident[line] == 0) {
      ++misses;
      if (room > 0) {
        --room;
      } else {
        resident[heap.front().line] = 0;
        std::pop_heap(heap.begin(), heap.end());
        heap.pop_back();
      }
    }
    resident[line] = key(next[i]);
    heap.push_back({next[i], line});
    std::push_heap(heap.begin(), heap.end());
    // Removes outdated entries before they outnumber the live ones.
    if (heap.size() > 4 * static_cast<std::size_t>(size) + 1024) {
      std::erase_if(heap, [&](const NextUse& e) { return resident[e.line] != key(e.next); });
      std::make_heap(heap.begin(), heap.end());
    }
  }
  return misses;
}

}  // namespace

LineTrace::LineTrace(index_t line_bytes, index_t most)
    : line_(line_bytes), most_(static_cast<std::size_t>(most)) {}

void LineTrace::take(std::span<const Access> accesses) {
  for (const Access access : accesses) {
    if (!access.is_touch() || !complete_) continue;
    const std::uint64_t first = line_.of(access.address());
    const std::uint64_t last = line_.of(access.address() + access.bytes() - 1);
    for (std::uint64_t line = first; line <= last; ++line) {
      if (!lines_.empty() && lines_.back() == line) continue;
      lines_.push_back(static_cast<std::uint32_t>(line));
    }
    if (lines_.size() > most_) {
      complete_ = false;
      lines_ = {};
    }
  }
}

std::vector<index_t> optimal_misses(std::span<const std::uint32_t> lines,
                                    std::span<const index_t> sizes) {
  std::vector<index_t> result;
  if (lines.empty()) return std::vector<index_t>(sizes.size(), 0);
  const std::uint32_t largest = *std::max_element(lines.begin(), lines.end());
  const std::vector<std::uint32_t> next = next_uses(lines, largest);
  for (const index_t size : sizes)
    result.push_back(misses_of(lines, next, largest, std::max<index_t>(size, 1)));
  return result;
}

}  // namespace tessera::inline v1::locality
