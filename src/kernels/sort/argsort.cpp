// Keys become bytes in the order of numbers, whose rows are then sorted.

#include "kernels/sort/argsort.hpp"

#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/sort/records.hpp"
#include "kernels/sort/variants.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::sort {
namespace {

template <class T>
using PlaceOf = Bits<ComparedAs<T>>;

/// Returns the key's place in the order of numbers.
template <class T>
Bits<T> place_of(T key, const KeyMap<Bits<T>>& map) {
  if constexpr (std::is_floating_point_v<T>) {
    if (key == T{0}) key = T{0};
    if (key != key) key = std::numeric_limits<T>::quiet_NaN();
  }
  return map.to_bits(std::bit_cast<Bits<T>>(key));
}

template <class B>
B most_significant_first(B bits) {
  if constexpr (std::endian::native == std::endian::big) return bits;
  if constexpr (sizeof(B) == 4) return __builtin_bswap32(bits);
  return static_cast<B>(__builtin_bswap64(bits));
}

}  // namespace

template <class T>
void argsort_keys(const Keys& keys, Order order, std::span<std::uint64_t> result, int threads) {
  const auto map = key_map<ComparedAs<T>>(order);
  machine::Buffer<PlaceOf<T>> places(keys.n);
  machine::parallel(threads, [&] {
    machine::parallel_for(0, keys.n, keys_of_thread, [&](index_t begin, index_t end) {
      for (index_t i = begin; i < end; ++i) {
        T key;
        std::memcpy(&key, keys.data + i * keys.stride, sizeof(T));
        places[i] = most_significant_first(place_of(widened(key), map));
      }
    });
  });
  constexpr auto bytes = static_cast<index_t>(sizeof(PlaceOf<T>));
  argsort_records(reinterpret_cast<const std::byte*>(places.data()), bytes,
                  {.begin = 0, .bytes = bytes}, result, threads);
}

template <class T>
index_t argsort_workspace_bytes(index_t n, int threads) {
  // Pairs and their copy, or words and the list of those that are equal, while it grows.
  constexpr index_t of_key = 5 * sizeof(Pair);
  return n * (index_t{sizeof(PlaceOf<T>)} + of_key) + automatic_workspace<Pair>(n, threads);
}

#define TESSERA_INSTANTIATE(T)                                                      \
  template void argsort_keys<T>(const Keys&, Order, std::span<std::uint64_t>, int); \
  template index_t argsort_workspace_bytes<T>(index_t, int)
TESSERA_INSTANTIATE(float);
TESSERA_INSTANTIATE(double);
TESSERA_INSTANTIATE(std::int32_t);
TESSERA_INSTANTIATE(std::int64_t);
TESSERA_INSTANTIATE(std::uint32_t);
TESSERA_INSTANTIATE(std::uint64_t);
TESSERA_INSTANTIATE(std::int8_t);
TESSERA_INSTANTIATE(std::int16_t);
TESSERA_INSTANTIATE(std::uint8_t);
TESSERA_INSTANTIATE(std::uint16_t);
TESSERA_INSTANTIATE(Half);
#undef TESSERA_INSTANTIATE

}  // namespace tessera::inline v1::sort
