#include "kernels/sort/verify.hpp"

#include <atomic>

#include "kernels/sort/common.hpp"
#include "kernels/sort/verify_kernels.hpp"

namespace tessera::sort {
namespace {

template <class B>
const B* bits_of(const void* keys) {
  return static_cast<const B*>(keys);
}

std::uint64_t hash(const std::uint32_t* raw, index_t n, std::uint64_t seed) {
  return TESSERA_OF_ISA(machine::isa(), hash_keys32)(raw, n, seed);
}
std::uint64_t hash(const std::uint64_t* raw, index_t n, std::uint64_t seed) {
  return TESSERA_OF_ISA(machine::isa(), hash_keys64)(raw, n, seed);
}
Looked look(const std::uint32_t* raw, index_t n, std::uint32_t before, const KeyMap<std::uint32_t>& map,
            std::uint64_t seed) {
  return TESSERA_OF_ISA(machine::isa(), look_at_keys32)(raw, n, before, map, seed);
}
Looked look(const std::uint64_t* raw, index_t n, std::uint64_t before, const KeyMap<std::uint64_t>& map,
            std::uint64_t seed) {
  return TESSERA_OF_ISA(machine::isa(), look_at_keys64)(raw, n, before, map, seed);
}

}  // namespace

template <class T>
Content content(std::span<const T> keys, std::uint64_t seed) {
  const auto* bits = bits_of<Bits<T>>(keys.data());
  const auto n = static_cast<index_t>(keys.size());
  std::atomic<std::uint64_t> sum = 0;
  machine::parallel_for(0, n, 8 * task_grain,
                        [&](index_t begin, index_t end) { sum += hash(bits + begin, end - begin, seed); });
  return {n, sum};
}

template <class T>
Inspection inspect(std::span<const T> keys, Order order, std::uint64_t seed) {
  const auto* bits = bits_of<Bits<T>>(keys.data());
  const auto n = static_cast<index_t>(keys.size());
  const auto map = key_map<T>(order);
  std::atomic<std::uint64_t> sum = 0;
  std::atomic<bool> sorted = true;
  machine::parallel_for(0, n, 8 * task_grain, [&](index_t begin, index_t end) {
    const Looked seen = look(bits + begin, end - begin, bits[std::max<index_t>(begin, 1) - 1], map, seed);
    sum += seen.hash;
    if (seen.descents > 0) sorted = false;
  });
  return {{n, sum}, sorted};
}

#define TESSERA_SORT_INSTANTIATE_VERIFY(T)                     \
  template Content content(std::span<const T>, std::uint64_t); \
  template Inspection inspect(std::span<const T>, Order, std::uint64_t)
TESSERA_SORT_INSTANTIATE_VERIFY(std::int32_t);
TESSERA_SORT_INSTANTIATE_VERIFY(std::int64_t);
TESSERA_SORT_INSTANTIATE_VERIFY(std::uint32_t);
TESSERA_SORT_INSTANTIATE_VERIFY(std::uint64_t);
TESSERA_SORT_INSTANTIATE_VERIFY(float);
TESSERA_SORT_INSTANTIATE_VERIFY(double);

}  // namespace tessera::sort
