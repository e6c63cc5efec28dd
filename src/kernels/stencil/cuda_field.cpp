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

/// Rows y and planes z of the box of a level, x from box.low on.
template <class T>
MatrixView<T> plane_of(T* level, Index3 stride, const Box3& box, index_t z) {
  return {level + z * stride[0] + box.low[1] * stride[1] + box.low[2], box.size()[1], box.size()[2],
          stride[1]};
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
void DeviceField<T>::copy_in(int level, const GridView<T>& from, DeviceStream stream) {
  const Box3 all = sweep_.all();
  for (index_t z = all.low[0]; z < all.high[0]; ++z) {
    cuda::copy<T>(plane_of<T>(from.data, from.stride, all, z),
                  plane_of<T>(sweep_.level[level], sweep_.stride, all, z), cudaMemcpyHostToDevice, stream);
  }
}

template <class T>
void DeviceField<T>::load(const Sweep<T>& sweep, DeviceStream stream) {
  copy_in(0, sweep.level[0], stream);
  if (sweep_.two_levels) copy_in(1, sweep.level[1], stream);
  fill_ghosts(sweep_, 0, stream);
  fill_ghosts(sweep_, 1, stream);
}

template <class T>
void DeviceField<T>::store(int level, const GridView<T>& to, DeviceStream stream) const {
  const Box3 owned{{}, sweep_.extent};
  for (index_t z = 0; z < owned.high[0]; ++z) {
    cuda::copy<T>(plane_of<T>(sweep_.level[level], sweep_.stride, owned, z),
                  plane_of<T>(to.data, to.stride, owned, z), cudaMemcpyDeviceToHost, stream);
  }
}

template class DeviceField<float>;
template class DeviceField<double>;

}  // namespace tessera::stencil
