#pragma once
// The table of stencil variants.

#include <span>
#include <type_traits>

#include "base/bfloat16.hpp"
#include "kernels/stencil/sweep.hpp"
#include "kernels/variant.hpp"
#include "machine/isa.hpp"

struct CUstream_st;

namespace tessera::inline v1::stencil {

/// Tuning options of the variants; 0 selects the variant's own default.
struct Tuning {
  index_t tile_y = 0, tile_x = 0;  ///< tiled, cuda_tiled: points
  index_t column = 0;              ///< column, zigzag (cuda_ too): width in points
  index_t base_steps = 0;  ///< cache_oblivious: time steps of a leaf; cuda_temporal: of a pass
  index_t base_rows =
      0;  ///< cache_oblivious: edge of a leaf in y, where that is not the slowest dimension
  index_t base_long =
      0;  ///< cache_oblivious: edge of a leaf in the slowest dimension, walked in a wave
  index_t base_x = 0;  ///< cache_oblivious: x is cut above this
  index_t block = 0;   ///< cuda_naive, cuda_column, cuda_zigzag: threads per block
  index_t march = 0;   ///< cuda_temporal, cuda_streaming in 3-D: rows or planes that a block walks
  index_t device_memory = 0;  ///< cuda_: device memory to use, in bytes, in slabs; 0: what is free
  machine::Isa isa = machine::isa();
};

using DeviceStream = CUstream_st*;  // cudaStream_t, for files without CUDA headers
template <class T>
struct DeviceSweep;
struct Passes;

/// A kernel for a sweep whose levels are on the device: run launches the steps and returns the
/// level that will hold the field.
template <class T>
struct DeviceKernel {
  int (*run)(const DeviceSweep<T>& sweep, const Tuning& tuning, DeviceStream stream) = nullptr;
  Passes (*passes)(const DeviceSweep<T>& sweep, const Tuning& tuning) = nullptr;
};
struct DeviceKernels {
  DeviceKernel<float> f32;
  DeviceKernel<double> f64;
  DeviceKernel<Half> f16 = {};
  DeviceKernel<BFloat16> bf16 = {};

  template <class T>
  [[nodiscard]] const DeviceKernel<T>& of() const {
    if constexpr (std::is_same_v<T, Half>) {
      return f16;
    } else if constexpr (std::is_same_v<T, BFloat16>) {
      return bf16;
    } else if constexpr (std::is_same_v<T, float>) {
      return f32;
    } else {
      return f64;
    }
  }
};

/// A row of the table. on_device: the kernels that a device variant runs on fields in device
/// memory.
struct Variant : VariantInfo {
  void (*f32)(const Sweep<float>&, const Tuning&);
  void (*f64)(const Sweep<double>&, const Tuning&);
  DeviceKernels on_device = {};
  /// Stored in 16 bits, computed in f32 and rounded once per step, without terms.
  void (*f16)(const Sweep<Half>&, const Tuning&) = nullptr;
  void (*bf16)(const Sweep<BFloat16>&, const Tuning&) = nullptr;  ///< on the CPU only

  template <class T>
  [[nodiscard]] auto of() const {
    if constexpr (std::is_same_v<T, Half>) {
      return f16;
    } else if constexpr (std::is_same_v<T, BFloat16>) {
      return bf16;
    } else if constexpr (std::is_same_v<T, float>) {
      return f32;
    } else {
      return f64;
    }
  }
};

[[nodiscard]] std::span<const Variant> variants();
/// Returns the fastest variant on a device; nullptr in a build without CUDA.
[[nodiscard]] const Variant* best_device();
/// Returns the fastest variant for the sweep on this machine, which `auto` selects.
template <class T>
[[nodiscard]] const Variant& best(const Sweep<T>& sweep);

/// Advances level[0] by sweep.steps steps, to level[steps % 2]; values beyond given sides stay in
/// both levels. Throws Error(usage) for halves with terms.
template <class T>
void run(const Variant& variant, const Sweep<T>& sweep, const Tuning& tuning = {});

// Each is in the file of its name. All give the same bits.
template <class T>
void naive(const Sweep<T>& sweep, const Tuning& tuning);
template <class T>
void tiled(const Sweep<T>& sweep, const Tuning& tuning);
template <class T>
void column(const Sweep<T>& sweep, const Tuning& tuning);
template <class T>
void zigzag(const Sweep<T>& sweep, const Tuning& tuning);
template <class T>
void streaming(const Sweep<T>& sweep, const Tuning& tuning);
template <class T>
void cache_oblivious(const Sweep<T>& sweep, const Tuning& tuning);

}  // namespace tessera::inline v1::stencil
