#pragma once
// The device of a sweep in slabs (SlabMarch). Only in builds with CUDA.

#include <memory>

#include "kernels/stencil/cuda.hpp"
#include "kernels/stencil/cuda_field.hpp"
#include "kernels/stencil/slab_march.hpp"

namespace tessera::inline v1::stencil {

template <class T>
class CudaSlabs {
 public:
  using Event = machine::cuda::Event;
  using Asked = machine::cuda::Staging::Asked;

  CudaSlabs(const Stencil& stencil, const SlabPlan& plan, const DeviceKernel<T>& kernel,
            const Tuning& tuning);

  void mark(Queue queue, Event& event) { event.record(stream(queue)); }
  void after(Queue queue, const Event& event) { event.before_next(stream(queue)); }
  [[nodiscard]] T* level(std::size_t place, int level) const {
    return memory_[2 * place + (level == 0 ? 0 : 1)].data();
  }
  void send(const MatrixView<const std::byte>& host, const MatrixView<std::byte>& there) {
    staging_.send(host, there);
  }
  void bring(const MatrixView<std::byte>& there, const MatrixView<std::byte>& host) {
    staging_.bring(there, host, machine::cuda::Staging::Between::kept);
  }
  int compute(DeviceSweep<T> sweep);
  [[nodiscard]] Asked asked() const { return staging_.asked(); }
  void arrived(const Asked& asked) { staging_.arrived(asked); }
  [[nodiscard]] index_t strip_bytes() const { return strip_bytes_; }

  /// Waits until all work has finished; returns its times.
  [[nodiscard]] machine::DeviceTimes finish();

 private:
  [[nodiscard]] cudaStream_t stream(Queue queue) const {
    return queue == Queue::send    ? staging_.sending()
           : queue == Queue::bring ? staging_.bringing()
                                   : computing_;
  }

  DeviceKernel<T> kernel_;
  Tuning tuning_;
  DeviceTaps<T> taps_;
  std::vector<machine::cuda::DeviceBuffer<T>> memory_;  ///< two levels per place
  machine::cuda::Stream computing_;
  machine::cuda::Staging staging_;
  index_t strip_bytes_;
  machine::cuda::Laps laps_;
};

}  // namespace tessera::inline v1::stencil
