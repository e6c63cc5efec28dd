#pragma once
// The distributed sweep.

#include "dist/stencil/field.hpp"
#include "kernels/stencil/variants.hpp"
#include "mpi/communicator.hpp"
#include "mpi/phases.hpp"

namespace tessera::dist::stencil {

using tessera::stencil::Tuning;
using tessera::stencil::Variant;

/// Whether the interior of a box moves on while the halo travels.
enum class Overlap { no, yes };

/// How to do it.
struct Method {
  const Variant* kernel = nullptr;  ///< nullptr: the best for the box and the steps
  Tuning tuning = {};
  int threads = 1;
  Overlap overlap = Overlap::no;
};

/// What one call moved on this rank.
struct Traffic {
  index_t exchanges = 0;
  index_t messages = 0;  ///< received
  Traffic& operator+=(const Traffic& other) {
    exchanges += other.exchanges;
    messages += other.messages;
    return *this;
  }
};

/// Takes u so many steps on, on all ranks of comm. Collective. Adds to the phases "exchange" and
/// "compute". The bits of u depend on neither the grid, the method, the steps between two
/// exchanges, nor how the steps are divided into calls. What lies beyond given sides of now() is
/// kept. Throws Error(usage) naming the argument for a field of other ranks, steps below 0 and no
/// thread.
template <class T>
Traffic advance(const mpi::Communicator& comm, DistributedField<T>& u, index_t steps,
                const Method& method, mpi::Phases& phases);

}  // namespace tessera::dist::stencil
