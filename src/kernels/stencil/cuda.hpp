#pragma once
// Stencils on the device: sweeps over fields that lie in device memory, on a stream. All give the
// bits of the host's variants.

#include <vector>

#include "kernels/stencil/resident.hpp"
#include "kernels/stencil/variants.hpp"
#include "machine/occupancy.hpp"

namespace tessera::stencil {

// All steps of the sweep; returns which level holds the field after them. Level 0 and, with two
// time levels, level 1 hold what a Sweep asks for, and their ghosts have been filled.
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

// What they make of a sweep.
template <class T>
[[nodiscard]] Passes single_steps(const DeviceSweep<T>& sweep, const Tuning&) {
  return {sweep.steps, true};
}
template <class T>
[[nodiscard]] Passes streaming_passes(const DeviceSweep<T>& sweep, const Tuning& tuning);
template <class T>
[[nodiscard]] Passes temporal_passes(const DeviceSweep<T>& sweep, const Tuning& tuning);

/// Writes every ghost of the level: what repeats its points, and what is constant or given (as
/// level 0 has it).
template <class T>
void fill_ghosts(const DeviceSweep<T>& sweep, int level, DeviceStream stream);

/// One step by the streaming kernels, from level `step % 2` or, where passes have taken several
/// steps, from any.
template <class T>
void streaming_step(const DeviceSweep<T>& sweep, index_t step, int from, const Tuning& tuning,
                    DeviceStream stream);

/// The rows for the table: each copies the field to the device once, makes all steps there and
/// copies the result back. Empty in a build without CUDA.
[[nodiscard]] std::vector<Variant> cuda_rows();

/// The functions that the rows launch, for `tessera list --occupancy`.
[[nodiscard]] std::vector<machine::DeviceFunction> device_functions();
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

}  // namespace tessera::stencil
