#include "kernels/sort/cuda_device.cuh"

namespace tessera::sort {
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

}  // namespace

void split_pairs(const Pair* pairs, std::uint64_t* keys, std::uint64_t* values, index_t n,
                 DeviceStream stream) {
  split<<<multiprocessors() * 4, threads, 0, stream>>>(reinterpret_cast<const Words*>(pairs), keys, values,
                                                       n);
  check_launch("split");
}

void join_pairs(const std::uint64_t* keys, const std::uint64_t* values, Pair* pairs, index_t n,
                DeviceStream stream) {
  join<<<multiprocessors() * 4, threads, 0, stream>>>(keys, values, reinterpret_cast<Words*>(pairs), n);
  check_launch("join");
}

void add_pairs_functions(std::vector<machine::DeviceFunction>& to) {
  to.push_back(machine::device_function("cuda_radix", "pairs to keys and values", split, threads));
  to.push_back(machine::device_function("cuda_radix", "keys and values to pairs", join, threads));
}

}  // namespace tessera::sort
