#pragma once
// Permutations of the axes of an array between ranks, planned once: the transposes of slabs and
// pencils of a distributed FFT (Frigo and Johnson 2005; Dalcin, Mortensen and Keyes 2019).

#include <memory>
#include <span>

#include "base/index.hpp"
#include "kernels/variant.hpp"
#include "layout/array_grid.hpp"
#include "machine/fork_join.hpp"
#include "mpi/communicator.hpp"
#include "mpi/phases.hpp"

namespace tessera::inline v1::mpi {
class DeviceExchange;
}

namespace tessera::inline v1::dist::transpose {

/// The permutation b[i[axes[0]], i[axes[1]], ...] = a[i[0], i[1], ...] between two grids of ranks:
/// axis k of b is axis axes[k] of a. A share is one array, its last axis fastest, without gaps.
struct ArrayPermutation {
  layout::ArrayGrid a;  ///< replicas hold what the others hold
  std::span<const int> axes;
  layout::ArrayGrid b;
  index_t bytes = 8;  ///< of an element
};

/// A permutation that is planned once and executed many times. Executions allocate nothing; they
/// must be in the same order on all ranks as those of other plans of the communicator.
class PermutePlan {
 public:
  /// Plans, and allocates buffer_bytes(). Throws Error(usage) naming the argument if axes is no
  /// permutation, extents or grids do not match, or there are more than 6 axes; on all ranks alike.
  /// Local, but with Space::device as relayout::Plan: then a and b are in device memory.
  PermutePlan(const mpi::Communicator& comm, const ArrayPermutation& permutation,
              int threads = machine::default_threads(), Space place = Space::host);
  /// As with Space::device, by a transport that is chosen already. Collective.
  PermutePlan(const mpi::DeviceExchange& exchange, const ArrayPermutation& permutation);
  PermutePlan(PermutePlan&&) noexcept;
  PermutePlan& operator=(PermutePlan&&) noexcept;
  PermutePlan(const PermutePlan&) = delete;
  PermutePlan& operator=(const PermutePlan&) = delete;
  ~PermutePlan();

  /// Executes: a and b are this rank's shares, which must not overlap; null where a share has no
  /// elements. Throws Error(usage) as start(). Collective.
  void execute(const std::byte* a, std::byte* b) {
    start(a, b);
    wait();
  }
  template <class T>
  void execute(const T* a, T* b) {
    execute(reinterpret_cast<const std::byte*>(a), reinterpret_cast<std::byte*>(b));
  }
  /// Starts an execution, for work of the caller until wait(): afterwards a may be written; b
  /// belongs to the plan. Throws Error(usage) if the plan is started already, or for a null array
  /// of elements, on this rank alone; the others then wait in vain. Collective.
  void start(const std::byte* a, std::byte* b);
  /// Waits for the messages and completes b. Throws Error(usage) without start(). Collective.
  void wait();

  /// Return the elements of this rank's share of a, and of b.
  [[nodiscard]] index_t a_elements() const;
  [[nodiscard]] index_t b_elements() const;
  /// Returns the bytes that this rank sends.
  [[nodiscard]] index_t sent_bytes() const;
  /// Returns the bytes of the plan's buffers on this rank.
  [[nodiscard]] index_t buffer_bytes() const;
  /// Returns the seconds of all executions so far: those of relayout::Plan, and "permute".
  [[nodiscard]] mpi::Phases phases() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera::inline v1::dist::transpose
