#pragma once
// A box's two levels and a stencil's weights in device memory. Only in builds with CUDA.

#include "kernels/stencil/cuda.hpp"
#include "machine/cuda_staging.hpp"

namespace tessera::stencil {

/// The taps of a stencil.
template <class T>
class DeviceTaps {
 public:
  explicit DeviceTaps(const Stencil& stencil);
  void add_to(DeviceSweep<T>& sweep) const {
    sweep.tap_weight = weights_.data();
    sweep.tap_place = places_.data();
  }

 private:
  machine::cuda::DeviceBuffer<Arithmetic<T>> weights_;
  machine::cuda::DeviceBuffer<Index3> places_;
};

template <class T>
class DeviceField {
 public:
  /// Room for the sweep's box with its ghosts; the weights are copied.
  explicit DeviceField(const Sweep<T>& sweep);

  [[nodiscard]] const DeviceSweep<T>& sweep() const { return sweep_; }
  /// What a kernel takes to do so many steps of it. Only boxes without neighbours can do other than
  /// the sweep's own number.
  [[nodiscard]] DeviceSweep<T> sweep(index_t steps) const {
    DeviceSweep<T> other = sweep_;
    other.steps = steps;
    return other;
  }
  /// Of a level that goes there or comes back.
  [[nodiscard]] index_t level_bytes() const {
    return sweep_.all().volume() * static_cast<index_t>(sizeof(T));
  }
  /// Level 0 (with two time levels also 1) as the host's has it, with what surrounds it; then all
  /// ghosts.
  void load(const Sweep<T>& sweep, machine::cuda::Staging& staging);
  /// The owned box of a device level to a level of the host's.
  void store(int level, const GridView<T>& to, machine::cuda::Staging& staging) const;

 private:
  void copy_in(int level, const GridView<T>& from, machine::cuda::Staging& staging);

  DeviceSweep<T> sweep_;
  machine::cuda::DeviceBuffer<T> levels_[2];
  DeviceTaps<T> taps_;
};

}  // namespace tessera::stencil
