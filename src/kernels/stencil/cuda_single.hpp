#pragma once
// Single steps without ghosts, by the shape of the stencil.

#include "kernels/stencil/cuda.hpp"

namespace tessera::stencil {

/// Whether every step of the sweep in three dimensions is taken by solid_step: a star of radius 1,
/// perhaps of two levels. It neither reads nor writes ghosts other than those that are constant or
/// given.
template <class T>
[[nodiscard]] bool steps_solid(const DeviceSweep<T>& s);
/// One step from level `in` to level `out` on the region; march: planes of a block.
template <class T>
void solid_step(const DeviceSweep<T>& s, const T* in, T* out, const Region& region, index_t march,
                DeviceStream stream);

/// The same in two dimensions: means and chains over squares, stars.
template <class T>
[[nodiscard]] bool steps_plane(const DeviceSweep<T>& s);
template <class T>
void plane_step(const DeviceSweep<T>& s, const T* in, T* out, const Region& region,
                DeviceStream stream);

/// The same for stars of radius 2 to 4 in three dimensions; march: planes of a block.
template <class T>
[[nodiscard]] bool steps_far(const DeviceSweep<T>& s);
template <class T>
void far_step(const DeviceSweep<T>& s, const T* in, T* out, const Region& region, index_t march,
              DeviceStream stream);

}  // namespace tessera::stencil
