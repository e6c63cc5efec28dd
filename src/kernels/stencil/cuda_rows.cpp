#include "base/error.hpp"
#include "kernels/stencil/cuda_field.hpp"
#include "machine/device_times.hpp"

namespace tessera::stencil {
namespace {

namespace cuda = machine::cuda;

/// A field in host memory on the device: there once, all steps, back; the times of the three are kept.
template <class T, int (*kernel)(const DeviceSweep<T>&, const Tuning&, DeviceStream)>
void staged(const Sweep<T>& sweep, const Tuning& tuning) {
  require(!sweep.terms.any(), ExitCode::usage,
          "the device variants of stencils know no coefficients, sources or masks; take one of the host's");
  if (sweep.steps == 0 || sweep.extent().volume() == 0) return;
  DeviceField<T> field(sweep);
  cuda::Staging staging({.job_bytes = field.level_bytes()});
  field.load(sweep, staging);
  int level = 0;
  staging.compute([&](cudaStream_t stream) { level = kernel(field.sweep(), tuning, stream); });
  field.store(level, sweep.level[sweep.steps % 2], staging);
  if (sweep.stencil.two_levels() &&
      sweep.steps > 1)  // after one step it is what the host's level 0 still has
    field.store(1 - level, sweep.level[(sweep.steps + 1) % 2], staging);
  machine::add_device_times(staging.finish());
}

}  // namespace

std::vector<Variant> cuda_rows() {
  return {
      {{"cuda_naive", Space::device, "a thread a point, step by step"},
       staged<float, cuda_naive<float>>,
       staged<double, cuda_naive<double>>,
       {{cuda_naive<float>, single_steps<float>}, {cuda_naive<double>, single_steps<double>}}},
      {{"cuda_tiled", Space::device, "tiles with their surroundings in shared memory, a thread a point"},
       staged<float, cuda_tiled<float>>,
       staged<double, cuda_tiled<double>>,
       {{cuda_tiled<float>, single_steps<float>}, {cuda_tiled<double>, single_steps<double>}}},
      {{"cuda_column", Space::device, "cuda_naive, threads numbered along columns of --column-width points"},
       staged<float, cuda_column<float>>,
       staged<double, cuda_column<double>>,
       {{cuda_column<float>, single_steps<float>}, {cuda_column<double>, single_steps<double>}}},
      {{"cuda_zigzag", Space::device, "cuda_column, every other row from right to left"},
       staged<float, cuda_zigzag<float>>,
       staged<double, cuda_zigzag<double>>,
       {{cuda_zigzag<float>, single_steps<float>}, {cuda_zigzag<double>, single_steps<double>}}},
      {{"cuda_streaming", Space::device, "step by step, the rows or planes of the stencil kept in registers"},
       staged<float, cuda_streaming<float>>,
       staged<double, cuda_streaming<double>>,
       {{cuda_streaming<float>, streaming_passes<float>},
        {cuda_streaming<double>, streaming_passes<double>}}},
      {{"cuda_temporal", Space::device,
        "stars of radius 1: several steps a pass, levels in registers (after Matsumura et al. 2020)"},
       staged<float, cuda_temporal<float>>,
       staged<double, cuda_temporal<double>>,
       {{cuda_temporal<float>, temporal_passes<float>}, {cuda_temporal<double>, temporal_passes<double>}}},
  };
}

std::vector<machine::DeviceFunction> device_functions() {
  std::vector<machine::DeviceFunction> all;
  add_textbook_functions(all);
  add_streaming_functions(all);
  add_plane_functions(all);
  add_far_functions(all);
  add_solid_functions(all);
  add_temporal_functions(all);
  add_temporal_solid_functions(all);
  add_ghost_functions(all);
  add_halo_functions(all);
  return all;
}

}  // namespace tessera::stencil
