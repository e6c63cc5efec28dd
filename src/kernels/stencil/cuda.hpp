#pragma once
// Stencils on the device: sweeps over fields in device memory, on a stream. All variants give the
// bits of the host's variants.

#include <array>
#include <vector>

#include "kernels/stencil/resident.hpp"
#include "kernels/stencil/variants.hpp"
#include "machine/occupancy.hpp"

namespace tessera::inline v1::stencil {

// Each runs all steps of the sweep and returns the level that holds the field after them.
// Preconditions: level 0 and, with two time levels, level 1 meet the requirements of a Sweep, and
// their ghosts are filled.
template <class T>
[[nodiscard]] int cuda_naive(const DeviceSweep<T>& sweep, const Tuning& tuning,
                             DeviceStream stream);
template <class T>
[[nodiscard]] int cuda_column(const DeviceSweep<T>& sweep, const Tuning& tuning,
                              DeviceStream stream);
template <class T>
[[nodiscard]] int cuda_zigzag(const DeviceSweep<T>& sweep, const Tuning& tuning,
                              DeviceStream stream);
template <class T>
[[nodiscard]] int cuda_tiled(const DeviceSweep<T>& sweep, const Tuning& tuning,
                             DeviceStream stream);
template <class T>
[[nodiscard]] int cuda_streaming(const DeviceSweep<T>& sweep, const Tuning& tuning,
                                 DeviceStream stream);
template <class T>
[[nodiscard]] int cuda_temporal(const DeviceSweep<T>& sweep, const Tuning& tuning,
                                DeviceStream stream);

// Each returns the passes of its kernel for a sweep.
template <class T>
[[nodiscard]] Passes single_steps(const DeviceSweep<T>& sweep, const Tuning&) {
  return {sweep.steps, true};
}
template <class T>
[[nodiscard]] Passes streaming_passes(const DeviceSweep<T>& sweep, const Tuning& tuning);
template <class T>
[[nodiscard]] Passes temporal_passes(const DeviceSweep<T>& sweep, const Tuning& tuning);

/// Writes every ghost of the level: repeated points, and values that are constant or given (as in
/// level 0).
template <class T>
void fill_ghosts(const DeviceSweep<T>& sweep, int level, DeviceStream stream);

/// Computes one step by the streaming kernels, from level `step % 2` or, after passes of several
/// steps, from any level.
template <class T>
void streaming_step(const DeviceSweep<T>& sweep, index_t step, int from, const Tuning& tuning,
                    DeviceStream stream);

/// The device rows of the table: names and descriptions, those of a build whose library is missing,
/// too.
inline constexpr std::array<VariantInfo, 6> cuda_names{{
    {"cuda_naive", Space::device, "one thread per point, step by step"},
    {"cuda_tiled", Space::device, "shared-memory tiles with halos, one thread per point"},
    {"cuda_column", Space::device, "cuda_naive, threads by columns of --column-width points"},
    {"cuda_zigzag", Space::device, "cuda_column, every other row from right to left"},
    {"cuda_streaming", Space::device,
     "step by step, rows or planes of the stencil in registers (2.5D)"},
    {"cuda_temporal", Space::device,
     "temporal blocking of stars of radius 1 (after Matsumura et al. 2020)"},
}};

/// Returns the rows of the table, each of which copies the field to the device once, computes all
/// steps there and copies the result back. Empty in a build without CUDA.
[[nodiscard]] std::vector<Variant> cuda_rows();
[[nodiscard]] std::vector<Variant> compiled_rows();  // those of libtessera_cuda.so

/// Returns the functions that the rows launch, for `tessera list --occupancy`.
[[nodiscard]] std::vector<machine::DeviceFunction> device_functions();
[[nodiscard]] std::vector<machine::DeviceFunction> compiled_functions();
void add_textbook_functions(std::vector<machine::DeviceFunction>& to);
void add_streaming_functions(std::vector<machine::DeviceFunction>& to);
void add_plane_functions(std::vector<machine::DeviceFunction>& to);
void add_far_functions(std::vector<machine::DeviceFunction>& to);
void add_solid_functions(std::vector<machine::DeviceFunction>& to);
void add_temporal_functions(std::vector<machine::DeviceFunction>& to);
void add_temporal_solid_f16(std::vector<machine::DeviceFunction>& to);
void add_temporal_solid_f32(std::vector<machine::DeviceFunction>& to);
void add_temporal_solid_f64(std::vector<machine::DeviceFunction>& to);
void add_ghost_functions(std::vector<machine::DeviceFunction>& to);
void add_halo_functions(std::vector<machine::DeviceFunction>& to);

}  // namespace tessera::inline v1::stencil
