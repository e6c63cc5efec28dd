#pragma once
// The two levels of a box and the weights of a stencil in device memory. Only in builds with CUDA.

#include "kernels/stencil/cuda.hpp"
#include "machine/cuda_staging.hpp"

namespace tessera::inline v1::stencil {

/// The taps of a stencil in device memory.
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
  /// Allocates memory for the sweep's box with its ghosts; copies the weights.
  explicit DeviceField(const Sweep<T>& sweep);

  [[nodiscard]] const DeviceSweep<T>& sweep() const { return sweep_; }
  /// Returns the sweep with `steps` steps. Precondition: a number other than the sweep's own
  /// requires a box without neighbours.
  [[nodiscard]] DeviceSweep<T> sweep(index_t steps) const {
    DeviceSweep<T> other = sweep_;
    other.steps = steps;
    return other;
  }
  /// Returns the bytes of a level that is transferred.
  [[nodiscard]] index_t level_bytes() const {
    return sweep_.all().volume() * static_cast<index_t>(sizeof(T));
  }
  /// Copies level 0 (with two time levels also level 1) of the host and its surroundings to the
  /// device, then fills all ghosts.
  void load(const Sweep<T>& sweep, machine::cuda::Staging& staging);
  /// Copies the owned box of a device level to a level of the host.
  void store(int level, const GridView<T>& to, machine::cuda::Staging& staging) const;

 private:
  void copy_in(int level, const GridView<T>& from, machine::cuda::Staging& staging);

  DeviceSweep<T> sweep_;
  machine::cuda::DeviceBuffer<T> levels_[2];
  DeviceTaps<T> taps_;
};

}  // namespace tessera::inline v1::stencil
