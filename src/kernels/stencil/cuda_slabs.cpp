// Transfers and computations of slabs on the device.

#include "kernels/stencil/cuda_slabs.hpp"

namespace tessera::inline v1::stencil {

namespace cuda = machine::cuda;

namespace {

machine::StagingPlan staging_of(const SlabPlan& plan) { return {.job_bytes = plan.sent_bytes}; }

}  // namespace

template <class T>
CudaSlabs<T>::CudaSlabs(const Stencil& stencil, const SlabPlan& plan, const DeviceKernel<T>& kernel,
                        const Tuning& tuning)
    : kernel_(kernel),
      tuning_(tuning),
      taps_(stencil),
      staging_(staging_of(plan)),
      strip_bytes_(chunk_bytes_of(staging_of(plan))) {
  for (index_t level = 0; level < 2 * plan.places; ++level) {
    memory_.emplace_back(plan.elements);
    // The padding around rows is copied back with them, and vector kernels read it.
    cuda::zero(memory_.back().data(), plan.elements, staging_.sending());
  }
}

template <class T>
int CudaSlabs<T>::compute(DeviceSweep<T> sweep) {
  taps_.add_to(sweep);
  cuda::Lap& lap = laps_.next();
  lap.begin.record(computing_);
  fill_ghosts(sweep, 0, computing_);
  fill_ghosts(sweep, 1, computing_);
  const int level = kernel_.run(sweep, tuning_, computing_);
  lap.end.record(computing_);
  return level;
}

template <class T>
machine::DeviceTimes CudaSlabs<T>::finish() {
  machine::DeviceTimes times = staging_.finish();
  computing_.wait();
  times.kernels = laps_.take();
  return times;
}

template class CudaSlabs<Half>;
template class CudaSlabs<float>;
template class CudaSlabs<double>;

}  // namespace tessera::inline v1::stencil
