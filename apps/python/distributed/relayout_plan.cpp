// Plans of relayouts.

#include "dist/transpose/permute_plan.hpp"
#include "distributed/operations.hpp"
#include "machine/gpu.hpp"
#include "mpi/agreement.hpp"

namespace tessera::python {

Relayout::Relayout(const Ranks& ranks, const Cut& from, const std::vector<int>& axes, const Cut& to,
                   index_t bytes, int gpu)
    : gpu_(gpu) {
  const py::gil_scoped_release release;
  const dist::transpose::ArrayPermutation permutation{from.grid(), axes, to.grid(), bytes};
  if (gpu < 0) {
    mpi::together(ranks.comm(), "plan a relayout", [&] {
      plan_ = std::make_unique<dist::transpose::PermutePlan>(ranks.comm(), permutation,
                                                             ranks.threads());
    });
    return;
  }
  machine::use_gpu(gpu);
  plan_ = std::make_unique<dist::transpose::PermutePlan>(ranks.comm(), permutation, ranks.threads(),
                                                         Space::device);
}

/// The garbage collector calls it on each rank at another time, when nothing collective may be
/// done.
Relayout::~Relayout() {
  if (gpu_ >= 0) (void)plan_.release();
}

void Relayout::use_place() const {
  if (gpu_ >= 0) machine::use_gpu(gpu_);
}

index_t Relayout::bytes() const { return plan_->buffer_bytes(); }

void Relayout::start(std::uintptr_t a, std::uintptr_t b) {
  const py::gil_scoped_release release;
  use_place();
  plan_->start(reinterpret_cast<const std::byte*>(a),  // NOLINT: of numpy and CUDA
               reinterpret_cast<std::byte*>(b));       // NOLINT
}

void Relayout::wait() {
  const py::gil_scoped_release release;
  use_place();
  plan_->wait();
}

void Relayout::free() {
  const py::gil_scoped_release release;
  use_place();
  plan_.reset();
}

}  // namespace tessera::python
