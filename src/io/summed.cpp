#include "io/summed.hpp"

#include <algorithm>

#include "io/checksum.hpp"

namespace tessera::io {
namespace {

constexpr index_t cached_bytes = index_t{256} << 10;  // part of a second-level cache

/// f(some), a few elements after the other.
template <class F>
void in_blocks(const StoredElements& stored, layout::Range elements, const F& f) {
  const index_t at_once = std::max<index_t>(1, cached_bytes / stored.element_bytes);
  for (index_t begin = elements.begin; begin < elements.end; begin += at_once)
    f(layout::Range{begin, std::min(elements.end, begin + at_once)});
}

}  // namespace

std::uint64_t write_summed(const StoredElements& to, index_t first, std::span<const std::byte> data) {
  std::uint64_t sum = 0;
  const index_t end = first + static_cast<index_t>(data.size()) / to.element_bytes;
  in_blocks(to, {first, end}, [&](layout::Range some) {
    const auto bytes = static_cast<std::size_t>(some.size() * to.element_bytes);
    sum += checksum(data.first(bytes), to.element_bytes, some.begin);
    to.file.write_at(to.offset + some.begin * to.element_bytes, data.first(bytes));
    data = data.subspan(bytes);
  });
  return sum;
}

std::uint64_t sum_stored(const StoredElements& from, layout::Range elements, std::vector<std::byte>& buffer) {
  std::uint64_t sum = 0;
  in_blocks(from, elements, [&](layout::Range some) {
    buffer.resize(static_cast<std::size_t>(some.size() * from.element_bytes));
    from.file.read_at(from.offset + some.begin * from.element_bytes, buffer);
    sum += checksum(buffer, from.element_bytes, some.begin);
  });
  return sum;
}

}  // namespace tessera::io
