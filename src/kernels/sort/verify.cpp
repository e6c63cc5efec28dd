#include "kernels/sort/verify.hpp"

#include <atomic>

#include "base/hash.hpp"
#include "kernels/sort/common.hpp"

namespace tessera::sort {
namespace {

template <class B>
const B* bits_of(const void* keys) {
  return static_cast<const B*>(keys);
}

}  // namespace

template <class T>
Content content(std::span<const T> keys, std::uint64_t seed) {
  const auto* bits = bits_of<Bits<T>>(keys.data());
  const auto n = static_cast<index_t>(keys.size());
  std::atomic<std::uint64_t> hash = 0;
  machine::parallel_for(0, n, 8 * task_grain, [&](index_t begin, index_t end) {
    std::uint64_t sum = 0;
    for (index_t i = begin; i < end; ++i) sum += mix64(bits[i] ^ seed);
    hash += sum;
  });
  return {n, hash};
}

template <class T>
bool is_sorted(std::span<const T> keys, Order order) {
  const auto* bits = bits_of<Bits<T>>(keys.data());
  const auto map = key_map<T>(order);
  std::atomic<bool> sorted = true;
  machine::parallel_for(1, static_cast<index_t>(keys.size()), 8 * task_grain,
                        [&](index_t begin, index_t end) {
                          index_t descents = 0;
                          for (index_t i = begin; i < end; ++i)
                            descents += map.to_bits(bits[i]) < map.to_bits(bits[i - 1]) ? 1 : 0;
                          if (descents > 0) sorted = false;
                        });
  return sorted;
}

#define TESSERA_SORT_INSTANTIATE_VERIFY(T)                     \
  template Content content(std::span<const T>, std::uint64_t); \
  template bool is_sorted(std::span<const T>, Order)
TESSERA_SORT_INSTANTIATE_VERIFY(std::int32_t);
TESSERA_SORT_INSTANTIATE_VERIFY(std::int64_t);
TESSERA_SORT_INSTANTIATE_VERIFY(std::uint32_t);
TESSERA_SORT_INSTANTIATE_VERIFY(std::uint64_t);
TESSERA_SORT_INSTANTIATE_VERIFY(float);
TESSERA_SORT_INSTANTIATE_VERIFY(double);

}  // namespace tessera::sort
