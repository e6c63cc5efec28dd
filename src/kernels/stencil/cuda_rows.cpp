// The device variants of stencil as rows of the table; in slabs if the device cannot hold the
// field.

#include "base/error.hpp"
#include "kernels/stencil/cuda_slabs.hpp"
#include "machine/device_times.hpp"

namespace tessera::inline v1::stencil {
namespace {

namespace cuda = machine::cuda;

/// Copies the field to the device, runs all steps and copies the result back.
template <class T>
machine::DeviceTimes at_once(const Sweep<T>& sweep, const DeviceKernel<T>& kernel,
                             const Tuning& tuning) {
  DeviceField<T> field(sweep);
  cuda::Staging staging({.job_bytes = field.level_bytes()});
  field.load(sweep, staging);
  int level = 0;
  staging.compute([&](cudaStream_t stream) { level = kernel.run(field.sweep(), tuning, stream); });
  field.store(level, sweep.level[sweep.steps % 2], staging);
  if (sweep.stencil.two_levels() && sweep.steps > 1)  // after one step it equals the host's level 0
    field.store(1 - level, sweep.level[(sweep.steps + 1) % 2], staging);
  return staging.finish();
}

template <class T>
machine::DeviceTimes in_slabs(const Sweep<T>& sweep, const SlabPlan& plan,
                              const DeviceKernel<T>& kernel, const Tuning& tuning) {
  CudaSlabs<T> device(sweep.stencil, plan, kernel, tuning);
  SlabMarch<T, CudaSlabs<T>>(sweep, plan, device).run();
  return device.finish();
}

/// Runs a sweep of a field in host memory on the device, in slabs if it does not fit; records the
/// times of transfers and kernels.
template <class T>
void staged(const Sweep<T>& sweep, const DeviceKernel<T>& kernel, const Tuning& tuning) {
  require(
      !sweep.terms.any(), ExitCode::usage,
      "device kernels of stencils do not support coefficients, source, mask or walls; use a host "
      "kernel");
  if (sweep.steps == 0 || sweep.extent().volume() == 0) return;
  const SlabPlan plan = plan_slabs(sweep, kernel, tuning);
  machine::add_device_times(plan.whole() ? at_once(sweep, kernel, tuning)
                                         : in_slabs(sweep, plan, kernel, tuning));
}

template <class T>
using Run = int(const DeviceSweep<T>&, const Tuning&, DeviceStream);
template <class T>
using PassesOf = Passes(const DeviceSweep<T>&, const Tuning&);

template <class T, Run<T>* run, PassesOf<T>* passes>
void staged(const Sweep<T>& sweep, const Tuning& tuning) {
  staged<T>(sweep, {run, passes}, tuning);
}

template <Run<float>* f32, Run<double>* f64, PassesOf<float>* passes_f32 = single_steps<float>,
          PassesOf<double>* passes_f64 = single_steps<double>>
Variant row(const char* name) {
  return {entry(cuda_names, name),
          staged<float, f32, passes_f32>,
          staged<double, f64, passes_f64>,
          {{f32, passes_f32}, {f64, passes_f64}, {}}};
}
/// Returns the variant with its kernels for 16-bit fields.
template <Run<Half>* f16, PassesOf<Half>* passes = single_steps<Half>>
Variant with_half(Variant variant) {
  variant.on_device.f16 = {f16, passes};
  variant.f16 = staged<Half, f16, passes>;
  return variant;
}

}  // namespace

std::vector<Variant> compiled_rows() {
  return {
      with_half<cuda_naive<Half>>(row<cuda_naive<float>, cuda_naive<double>>("cuda_naive")),
      with_half<cuda_tiled<Half>>(row<cuda_tiled<float>, cuda_tiled<double>>("cuda_tiled")),
      with_half<cuda_column<Half>>(row<cuda_column<float>, cuda_column<double>>("cuda_column")),
      with_half<cuda_zigzag<Half>>(row<cuda_zigzag<float>, cuda_zigzag<double>>("cuda_zigzag")),
      with_half<cuda_streaming<Half>, streaming_passes<Half>>(
          row<cuda_streaming<float>, cuda_streaming<double>, streaming_passes<float>,
              streaming_passes<double>>("cuda_streaming")),
      with_half<cuda_temporal<Half>, temporal_passes<Half>>(
          row<cuda_temporal<float>, cuda_temporal<double>, temporal_passes<float>,
              temporal_passes<double>>("cuda_temporal")),
  };
}

std::vector<machine::DeviceFunction> compiled_functions() {
  std::vector<machine::DeviceFunction> all;
  add_textbook_functions(all);
  add_streaming_functions(all);
  add_plane_functions(all);
  add_far_functions(all);
  add_solid_functions(all);
  add_temporal_functions(all);
  add_temporal_solid_f16(all);
  add_temporal_solid_f32(all);
  add_temporal_solid_f64(all);
  add_ghost_functions(all);
  add_halo_functions(all);
  return all;
}

}  // namespace tessera::inline v1::stencil
