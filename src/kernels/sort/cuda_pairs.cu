// Conversions of keys and pairs between the layouts of the host and of the sorts.

#include <string>

#include "base/element.hpp"
#include "kernels/sort/cuda_device.cuh"

namespace tessera::inline v1::sort {
namespace {

constexpr int threads = 512;

struct alignas(16) Words {
  std::uint64_t key, index;
};
static_assert(sizeof(Words) == sizeof(Pair));

__global__ void __launch_bounds__(threads)
    split(const Words* pairs, std::uint64_t* keys, std::uint64_t* values, index_t n) {
  const index_t step = static_cast<index_t>(gridDim.x) * threads;
  for (index_t i = static_cast<index_t>(blockIdx.x) * threads + threadIdx.x; i < n; i += step) {
    const Words pair = pairs[i];
    keys[i] = pair.key;
    values[i] = pair.index;
  }
}

__global__ void __launch_bounds__(threads)
    join(const std::uint64_t* keys, const std::uint64_t* values, Words* pairs, index_t n) {
  const index_t step = static_cast<index_t>(gridDim.x) * threads;
  for (index_t i = static_cast<index_t>(blockIdx.x) * threads + threadIdx.x; i < n; i += step)
    pairs[i] = {keys[i], values[i]};
}

enum class Mapping { to_bits, to_raw };

template <Mapping mapping, class Key>
__global__ void __launch_bounds__(threads) map_keys(Key* keys, index_t n, KeyMap<Key> map) {
  const index_t step = static_cast<index_t>(gridDim.x) * threads;
  for (index_t i = static_cast<index_t>(blockIdx.x) * threads + threadIdx.x; i < n; i += step)
    keys[i] = mapping == Mapping::to_bits ? map.to_bits(keys[i]) : map.to_raw(keys[i]);
}
template <Mapping mapping, class Key>
void map_all(Key* keys, index_t n, const KeyMap<Key>& map, cudaStream_t stream) {
  if (map.identity()) return;
  map_keys<mapping><<<multiprocessors() * 4, threads, 0, stream>>>(keys, n, map);
  check_launch("map_keys");
}

}  // namespace

template <class Key>
void keys_to_bits(Key* keys, index_t n, const KeyMap<Key>& map, DeviceStream stream) {
  map_all<Mapping::to_bits>(keys, n, map, stream);
}
template <class Key>
void keys_to_raw(Key* keys, index_t n, const KeyMap<Key>& map, DeviceStream stream) {
  map_all<Mapping::to_raw>(keys, n, map, stream);
}
template void keys_to_bits(std::uint32_t*, index_t, const KeyMap<std::uint32_t>&, DeviceStream);
template void keys_to_bits(std::uint64_t*, index_t, const KeyMap<std::uint64_t>&, DeviceStream);
template void keys_to_raw(std::uint32_t*, index_t, const KeyMap<std::uint32_t>&, DeviceStream);
template void keys_to_raw(std::uint64_t*, index_t, const KeyMap<std::uint64_t>&, DeviceStream);

void split_pairs(const Pair* pairs, std::uint64_t* keys, std::uint64_t* values, index_t n,
                 DeviceStream stream) {
  split<<<multiprocessors() * 4, threads, 0, stream>>>(reinterpret_cast<const Words*>(pairs), keys,
                                                       values, n);
  check_launch("split");
}

void join_pairs(const std::uint64_t* keys, const std::uint64_t* values, Pair* pairs, index_t n,
                DeviceStream stream) {
  join<<<multiprocessors() * 4, threads, 0, stream>>>(keys, values, reinterpret_cast<Words*>(pairs),
                                                      n);
  check_launch("join");
}

void add_pairs_functions(std::vector<machine::DeviceFunction>& to) {
  to.push_back(machine::device_function("cuda_radix", "pairs to keys and values", split, threads));
  to.push_back(machine::device_function("cuda_radix", "keys and values to pairs", join, threads));
  const auto of_keys = [&]<class Key>(const std::string& of, Type<Key>) {
    to.push_back(machine::device_function("cub", of + ", to bits", map_keys<Mapping::to_bits, Key>,
                                          threads));
    to.push_back(machine::device_function("cub", of + ", from bits", map_keys<Mapping::to_raw, Key>,
                                          threads));
  };
  of_keys("keys of 4 bytes", Type<std::uint32_t>{});
  of_keys("keys of 8 bytes", Type<std::uint64_t>{});
}

}  // namespace tessera::inline v1::sort
