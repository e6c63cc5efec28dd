// The order of keys on the device: their positions as values of a stable radix sort.

#include "kernels/sort/cuda_argsort.hpp"

#include "base/element.hpp"
#include "kernels/sort/cuda_device.cuh"

namespace tessera::inline v1::sort {
namespace {

constexpr int threads = 512;

/// Replaces -0 by 0, and every NaN by one.
template <class B>
__global__ void __launch_bounds__(threads) unify_numbers(B* keys, index_t n) {
  constexpr B sign = B{1} << (std::numeric_limits<B>::digits - 1);
  constexpr B infinity = sizeof(B) == 4 ? B{0x7f800000} : static_cast<B>(0x7ff0000000000000);
  const index_t step = static_cast<index_t>(gridDim.x) * threads;
  for (index_t i = static_cast<index_t>(blockIdx.x) * threads + threadIdx.x; i < n; i += step) {
    const B key = keys[i];
    if (key == sign) keys[i] = 0;
    if ((key & ~sign) > infinity) keys[i] = infinity | (infinity >> 1);
  }
}

}  // namespace

template <class B>
void cuda_argsort(const OrderOfKeys<B>& block, DeviceStream stream) {
  if (block.n == 0) return;
  const bool is_real = block.map.spread != 0;
  if (is_real) {
    unify_numbers<<<multiprocessors() * 4, threads, 0, stream>>>(block.keys, block.n);
    check_launch("unify_numbers");
  }
  cuda_radix<B, std::uint64_t>({.keys = block.keys,
                                .spare_keys = block.spare_keys,
                                .values = block.order,
                                .spare_values = block.spare_order,
                                .n = block.n,
                                .map = block.map,
                                .payload = Payload::positions,
                                .work = block.work},
                               stream);
}
template <class B>
index_t cuda_argsort_bytes(index_t n) {
  return cuda_radix_bytes<B, std::uint64_t>(n);
}

template void cuda_argsort(const OrderOfKeys<std::uint32_t>&, DeviceStream);
template void cuda_argsort(const OrderOfKeys<std::uint64_t>&, DeviceStream);
template index_t cuda_argsort_bytes<std::uint32_t>(index_t);
template index_t cuda_argsort_bytes<std::uint64_t>(index_t);

void add_argsort_functions(std::vector<machine::DeviceFunction>& to) {
  to.push_back(machine::device_function("cuda_radix", "keys of 4 bytes, -0 and NaN",
                                        unify_numbers<std::uint32_t>, threads));
  to.push_back(machine::device_function("cuda_radix", "keys of 8 bytes, -0 and NaN",
                                        unify_numbers<std::uint64_t>, threads));
}

}  // namespace tessera::inline v1::sort
