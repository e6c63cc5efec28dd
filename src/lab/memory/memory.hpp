#pragma once
// tessera memory: the five kinds of miss, timed and simulated.

#include "kernels/memory/misses.hpp"
#include "mpi/communicator.hpp"
#include "run/options.hpp"
#include "run/session.hpp"

namespace tessera::memory_probes {

/// Runs or plans the points of a request. Collective.
[[nodiscard]] ExitCode run_all(const mpi::Communicator& comm, const run::OptionSet& set,
                               const run::Parsed& parsed,
                               const std::vector<std::string>& arguments);

/// The probes of the GPU, when --kernel names some: leaves out what only walks of the CPU have.
/// Throws Error(usage) where options do not go together.
void sort_out(run::Parsed& parsed);
[[nodiscard]] bool on_device(const run::Values& point);
/// One of them. Collective; whether its result was right.
[[nodiscard]] bool run_on_device(const mpi::Communicator& comm, const run::Values& point,
                                 const run::Parsed& parsed, run::Session& session);
void plan_on_device(const mpi::Communicator& comm, const run::Values& point);

/// What simulators say of one run of a probe, per touch.
struct Simulated {
  double l1_misses = 0, l2_misses = 0,
         llc_misses = 0;    ///< demand, not prefetched; in this machine's caches
  double l1_conflicts = 0;  ///< of those of the first level: beyond a fully associative one
  double true_sharing = 0, false_sharing = 0;  ///< between private caches
};

/// Simulates the walk, of sharing probes the first rounds of it.
[[nodiscard]] Simulated simulate(const memory::ProbeVariant& probe, memory::Walk walk);

}  // namespace tessera::memory_probes
