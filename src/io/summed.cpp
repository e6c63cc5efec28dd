#include "io/summed.hpp"

#include <algorithm>

#include "io/checksum.hpp"

namespace tessera::inline v1::io {
namespace {

constexpr index_t cached_bytes = index_t{256} << 10;  // part of an L2 cache
constexpr index_t close_bytes = index_t{32} << 10;    // part of an L1 cache

/// Calls f(some) for consecutive blocks of elements, each of whole groups.
template <class F>
void in_blocks(index_t block_bytes, const StoredElements& stored, layout::Range elements,
               index_t group, const F& f) {
  const index_t at_once = std::max<index_t>(1, block_bytes / stored.element_bytes / group) * group;
  for (index_t begin = elements.begin; begin < elements.end; begin += at_once)
    f(layout::Range{begin, std::min(elements.end, begin + at_once)});
}

}  // namespace

std::uint64_t write_summed(const StoredElements& to, index_t first, std::span<const std::byte> data,
                           const Onlooker& onlooker) {
  std::uint64_t sum = 0;
  const index_t end = first + static_cast<index_t>(data.size()) / to.element_bytes;
  const auto bytes_of = [&](layout::Range some) {
    return data.subspan(static_cast<std::size_t>((some.begin - first) * to.element_bytes),
                        static_cast<std::size_t>(some.size() * to.element_bytes));
  };
  in_blocks(cached_bytes, to, {first, end}, onlooker.elements, [&](layout::Range block) {
    in_blocks(close_bytes, to, block, onlooker.elements, [&](layout::Range some) {
      sum += checksum(bytes_of(some), to.element_bytes, some.begin);
      if (onlooker.look) onlooker.look(bytes_of(some));
    });
    to.file.write_at(to.offset + block.begin * to.element_bytes, bytes_of(block));
  });
  return sum;
}

std::uint64_t sum_stored(const StoredElements& from, layout::Range elements,
                         std::vector<std::byte>& buffer) {
  std::uint64_t sum = 0;
  in_blocks(cached_bytes, from, elements, 1, [&](layout::Range some) {
    buffer.resize(static_cast<std::size_t>(some.size() * from.element_bytes));
    from.file.read_at(from.offset + some.begin * from.element_bytes, buffer);
    sum += checksum(buffer, from.element_bytes, some.begin);
  });
  return sum;
}

}  // namespace tessera::inline v1::io
