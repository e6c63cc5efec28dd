#include "kernels/stencil/cuda_field.hpp"

#include <vector>

namespace tessera::stencil {
namespace {

namespace cuda = machine::cuda;

/// A list to device memory.
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

/// The rows of the box in `planes` planes from z on, x from box.low on.
template <class T>
MatrixView<std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>> rows_of(
    T* level, Index3 stride, const Box3& box, index_t z, index_t planes) {
  return in_bytes(MatrixView<T>{level + z * stride[0] + box.low[1] * stride[1] + box.low[2],
                                planes * box.size()[1], box.size()[2], stride[1]});
}

/// f(first plane, planes) for the box: all at once where its rows lie evenly apart in both levels, across
/// planes too.
template <class F>
void for_planes(const Box3& box, Index3 stride, Index3 other, const F& f) {
  const index_t rows = box.size()[1], planes = box.size()[0];
  if (stride[0] == rows * stride[1] && other[0] == rows * other[1]) return f(box.low[0], planes);
  for (index_t z = box.low[0]; z < box.high[0]; ++z) f(z, 1);
}

}  // namespace

template <class T>
DeviceField<T>::DeviceField(const Sweep<T>& sweep) : sweep_(device_sweep(sweep)) {
  const DeviceShape shape = device_shape(sweep_.line, static_cast<index_t>(sizeof(T)));
  for (int level = 0; level < 2; ++level) {
    levels_[level] = cuda::DeviceBuffer<T>(shape.count);
    sweep_.level[level] = levels_[level].data() + shape.origin;
  }
  std::vector<T> weights;
  std::vector<Index3> places;
  for (const Tap& tap : sweep.stencil.taps) {
    weights.push_back(static_cast<T>(tap.weight));
    places.push_back(tap.offset);
  }
  weights_ = on_device(weights);
  places_ = on_device(places);
  sweep_.tap_weight = weights_.data();
  sweep_.tap_place = places_.data();
}

template <class T>
void DeviceField<T>::copy_in(int level, const GridView<T>& from, cuda::Staging& staging) {
  const Box3 all = sweep_.all();
  for_planes(all, from.stride, sweep_.stride, [&](index_t z, index_t planes) {
    staging.send(rows_of<const T>(from.data, from.stride, all, z, planes),
                 rows_of(sweep_.level[level], sweep_.stride, all, z, planes));
  });
}

template <class T>
void DeviceField<T>::load(const Sweep<T>& sweep, cuda::Staging& staging) {
  const cudaStream_t stream = staging.sending();
  // What lies around the rows goes back with them, and nobody else writes it.
  for (const auto& level : levels_) cuda::zero(level.data(), level.size(), stream);
  copy_in(0, sweep.level[0], staging);
  if (sweep_.two_levels) copy_in(1, sweep.level[1], staging);
  fill_ghosts(sweep_, 0, stream);
  fill_ghosts(sweep_, 1, stream);
}

template <class T>
void DeviceField<T>::store(int level, const GridView<T>& to, cuda::Staging& staging) const {
  const Box3 owned{{}, sweep_.extent};
  for_planes(owned, to.stride, sweep_.stride, [&](index_t z, index_t planes) {
    staging.bring(rows_of(sweep_.level[level], sweep_.stride, owned, z, planes),
                  rows_of(to.data, to.stride, owned, z, planes), cuda::Staging::Between::kept);
  });
}

template class DeviceField<float>;
template class DeviceField<double>;

}  // namespace tessera::stencil
