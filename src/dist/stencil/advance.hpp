#pragma once
// The distributed stencil sweep with halo exchange: every exchange fetches halo_steps * radius
// layers for halo_steps steps (redundant computation of the halo in place of messages).

#include "dist/stencil/field.hpp"
#include "kernels/stencil/variants.hpp"
#include "machine/fork_join.hpp"
#include "mpi/communicator.hpp"
#include "mpi/phases.hpp"

namespace tessera::inline v1::dist::stencil {

using tessera::stencil::Tuning;
using tessera::stencil::Variant;

/// Whether the interior of a box is computed while the halo is in flight.
enum class Overlap { no, yes };

/// Kernel and parameters of a sweep.
struct Method {
  const Variant* kernel = nullptr;  ///< nullptr: the best for the box and the steps
  Tuning tuning = {};
  int threads = machine::default_threads();
  Overlap overlap = Overlap::no;
};

/// Exchanges and messages of one call on this rank.
struct Traffic {
  index_t exchanges = 0;
  index_t messages = 0;  ///< received
  Traffic& operator+=(const Traffic& other) {
    exchanges += other.exchanges;
    messages += other.messages;
    return *this;
  }
};

/// Advances u by `steps` steps on all ranks of comm. Adds to the phases "exchange" and "compute".
/// The bits of u do not depend on the grid, the method, the steps between two exchanges, or the
/// division of the steps into calls. Keeps the values of now() beyond given sides. Throws
/// Error(usage) that names the argument for a field of other ranks, negative steps and fewer than
/// one thread. Collective.
template <class T>
Traffic advance(const mpi::Communicator& comm, DistributedField<T>& u, index_t steps,
                const Method& method, mpi::Phases& phases);
template <class T>
Traffic advance(const mpi::Communicator& comm, DistributedField<T>& u, index_t steps,
                const Method& method = {}) {
  mpi::Phases unused;
  return advance(comm, u, steps, method, unused);
}

}  // namespace tessera::inline v1::dist::stencil
