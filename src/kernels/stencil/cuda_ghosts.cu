// Fills the ghost layers of a level in one launch: before the first step, and after passes of
// several steps, which do not update them.

#include "kernels/stencil/cuda_device.cuh"

namespace tessera::inline v1::stencil {
namespace {

constexpr unsigned rows_a_block = 8;

/// Fills ghosts with one warp per row; for rows inside the field only the two ends.
template <class T>
__global__ void ghosts_of_rows(const __grid_constant__ DeviceSweep<T> s, T* level, const T* given,
                               Index3 low, Index3 size) {
  const index_t row = static_cast<index_t>(blockIdx.x) * rows_a_block + threadIdx.y;
  if (row >= size[0] * size[1]) return;
  const index_t z = low[0] + row / size[1], y = low[1] + row % size[1];
  const Line& along = s.line[2];
  const bool inside = s.line[0].inside(z) && s.line[1].inside(y);
  const index_t count = inside ? along.before + along.after : size[2];
  for (index_t i = threadIdx.x; i < count; i += 32) {
    const index_t x = !inside            ? low[2] + i
                      : i < along.before ? low[2] + i
                                         : along.end + i - along.before;
    const Ghost<T> ghost = ghost_of<T>(s.line, {{z, y, x}});
    T& to = level[s.place({{z, y, x}})];
    if (ghost.from == From::point) to = level[s.place(ghost.at)];
    if (ghost.from == From::constant) to = ghost.value;
    if (ghost.from == From::given) to = given[s.place(ghost.at)];
  }
}

}  // namespace

template <class T>
void fill_ghosts(const DeviceSweep<T>& s, int level, DeviceStream stream) {
  const Box3 all = s.all();
  if (s.extent.volume() == 0) return;
  const Index3 size = all.size();
  const unsigned blocks = narrow<unsigned>(ceil_div(size[0] * size[1], index_t{rows_a_block}));
  ghosts_of_rows<<<blocks, dim3(32, rows_a_block), 0, stream>>>(s, s.level[level], s.level[0],
                                                                all.low, size);
  check_launch();
}

template void fill_ghosts(const DeviceSweep<Half>&, int, DeviceStream);
template void fill_ghosts(const DeviceSweep<float>&, int, DeviceStream);
template void fill_ghosts(const DeviceSweep<double>&, int, DeviceStream);

void add_ghost_functions(std::vector<machine::DeviceFunction>& to) {
  to.push_back(machine::device_function("cuda_temporal", "f32, ghosts", ghosts_of_rows<float>,
                                        32 * rows_a_block));
  to.push_back(machine::device_function("cuda_temporal", "f64, ghosts", ghosts_of_rows<double>,
                                        32 * rows_a_block));
}

}  // namespace tessera::inline v1::stencil
