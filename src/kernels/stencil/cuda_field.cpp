// Transfers of fields and taps between host and device.

#include "kernels/stencil/cuda_field.hpp"

#include <vector>

#include "kernels/stencil/level_rows.hpp"

namespace tessera::inline v1::stencil {
namespace {

namespace cuda = machine::cuda;

/// Copies a list to device memory.
template <class T>
cuda::DeviceBuffer<T> on_device(const std::vector<T>& list) {
  const auto count = static_cast<index_t>(list.size());
  cuda::DeviceBuffer<T> buffer(count);
  const cuda::Stream stream;
  cuda::copy<T>(matrix_view(list.data(), 1, count), matrix_view(buffer.data(), 1, count),
                cudaMemcpyHostToDevice, stream);
  stream.wait();
  return buffer;
}

}  // namespace

template <class T>
DeviceTaps<T>::DeviceTaps(const Stencil& stencil) {
  std::vector<Arithmetic<T>> weights;
  std::vector<Index3> places;
  for (const Tap& tap : stencil.taps) {
    weights.push_back(static_cast<Arithmetic<T>>(tap.weight));
    places.push_back(tap.offset);
  }
  weights_ = on_device(weights);
  places_ = on_device(places);
}

template <class T>
DeviceField<T>::DeviceField(const Sweep<T>& sweep)
    : sweep_(device_sweep(sweep)), taps_(sweep.stencil) {
  const DeviceShape shape = device_shape(sweep_.line, static_cast<index_t>(sizeof(T)));
  for (int level = 0; level < 2; ++level) {
    levels_[level] = cuda::DeviceBuffer<T>(shape.count);
    sweep_.level[level] = levels_[level].data() + shape.origin;
  }
  taps_.add_to(sweep_);
}

template <class T>
void DeviceField<T>::copy_in(int level, const GridView<T>& from, cuda::Staging& staging) {
  each_run_of_rows(static_cast<const T*>(from.data), from.stride, sweep_.level[level],
                   sweep_.stride, sweep_.all(),
                   [&](const auto& host, const auto& there) { staging.send(host, there); });
}

template <class T>
void DeviceField<T>::load(const Sweep<T>& sweep, cuda::Staging& staging) {
  const cudaStream_t stream = staging.sending();
  // The padding around rows is copied back with them; nothing else writes it.
  for (const auto& level : levels_) cuda::zero(level.data(), level.size(), stream);
  copy_in(0, sweep.level[0], staging);
  if (sweep_.two_levels) copy_in(1, sweep.level[1], staging);
  fill_ghosts(sweep_, 0, stream);
  fill_ghosts(sweep_, 1, stream);
}

template <class T>
void DeviceField<T>::store(int level, const GridView<T>& to, cuda::Staging& staging) const {
  const Box3 owned{{}, sweep_.extent};
  each_run_of_rows(sweep_.level[level], sweep_.stride, to.data, to.stride, owned,
                   [&](const auto& there, const auto& host) {
                     staging.bring(there, host, cuda::Staging::Between::kept);
                   });
}

template class DeviceTaps<Half>;
template class DeviceTaps<float>;
template class DeviceTaps<double>;
template class DeviceField<Half>;
template class DeviceField<float>;
template class DeviceField<double>;

}  // namespace tessera::inline v1::stencil
