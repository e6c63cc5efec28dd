#pragma once
// Single steps without ghosts, by stencil shape.

#include "kernels/stencil/cuda.hpp"

namespace tessera::inline v1::stencil {

/// Returns whether solid_step computes every step of the sweep in three dimensions: a star of
/// radius 1, with one or two time levels. It neither reads nor writes ghosts except those that are
/// constant or given.
template <class T>
[[nodiscard]] bool steps_solid(const DeviceSweep<T>& s);
/// Computes one step from level `in` to level `out` on the region; march: planes per block.
template <class T>
void solid_step(const DeviceSweep<T>& s, const T* in, T* out, const Region& region, index_t march,
                DeviceStream stream);

/// Returns and computes the same in two dimensions: means and chains over squares, stars.
template <class T>
[[nodiscard]] bool steps_plane(const DeviceSweep<T>& s);
template <class T>
void plane_step(const DeviceSweep<T>& s, const T* in, T* out, const Region& region,
                DeviceStream stream);

/// Returns and computes the same for stars of radius 2 to 4 in three dimensions; march: planes per
/// block.
template <class T>
[[nodiscard]] bool steps_far(const DeviceSweep<T>& s);
template <class T>
void far_step(const DeviceSweep<T>& s, const T* in, T* out, const Region& region, index_t march,
              DeviceStream stream);

}  // namespace tessera::inline v1::stencil
