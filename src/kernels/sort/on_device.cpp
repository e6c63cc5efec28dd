#include "kernels/sort/on_device.hpp"

#include <algorithm>

#include "kernels/sort/resident.hpp"
#include "machine/device_call.hpp"

namespace tessera::inline v1::sort {
namespace {

using machine::device::Allocation, machine::device::Home, machine::device::StreamHandle;

template <class T>
void copy_keys(const Keys& keys, std::byte* to, StreamHandle stream) {
  constexpr index_t size = sizeof(T);
  machine::device::copy({keys.data, keys.n, size, std::max(keys.stride, size)},
                        {to, keys.n, size, size}, stream);
}

}  // namespace

template <class T>
void sort_on_device(const Keys& keys, Order order, std::byte* to) {
  using B = Bits<T>;
  const ResidentKernels<B>& kernels = *resident_kernels(B{});
  machine::device::call([&](StreamHandle stream) {
    const Allocation spare(keys.n * index_t{sizeof(T)}, Home::device);
    const Allocation work(kernels.work_bytes(keys.n), Home::device);
    if (to != keys.data) copy_keys<T>(keys, to, stream);
    kernels.sort(reinterpret_cast<B*>(to), reinterpret_cast<B*>(spare.data()), keys.n,
                 key_map<T>(order), work.data(), stream);
    machine::device::synchronize();  // before the memory is released
  });
}

template <class T>
void argsort_on_device(const Keys& keys, Order order, std::uint64_t* to) {
  using B = Bits<T>;
  const ResidentKernels<B>& kernels = *resident_kernels(B{});
  machine::device::call([&](StreamHandle stream) {
    const index_t bytes = keys.n * index_t{sizeof(T)};
    const Allocation copy(bytes, Home::device), spare(bytes, Home::device),
        spare_order(keys.n * index_t{sizeof(std::uint64_t)}, Home::device),
        work(kernels.argsort_bytes(keys.n), Home::device);
    copy_keys<T>(keys, copy.data(), stream);
    kernels.argsort({.keys = reinterpret_cast<B*>(copy.data()),
                     .spare_keys = reinterpret_cast<B*>(spare.data()),
                     .order = to,
                     .spare_order = reinterpret_cast<std::uint64_t*>(spare_order.data()),
                     .n = keys.n,
                     .map = key_map<T>(order),
                     .work = work.data()},
                    stream);
    machine::device::synchronize();  // before the memory is released
  });
}

#define TESSERA_INSTANTIATE(T)                                     \
  template void sort_on_device<T>(const Keys&, Order, std::byte*); \
  template void argsort_on_device<T>(const Keys&, Order, std::uint64_t*)
TESSERA_INSTANTIATE(float);
TESSERA_INSTANTIATE(double);
TESSERA_INSTANTIATE(std::int32_t);
TESSERA_INSTANTIATE(std::int64_t);
TESSERA_INSTANTIATE(std::uint32_t);
TESSERA_INSTANTIATE(std::uint64_t);
#undef TESSERA_INSTANTIATE

}  // namespace tessera::inline v1::sort
