#pragma once
// tessera memory: the five kinds of miss, timed and simulated.

#include "kernels/memory/misses.hpp"
#include "mpi/communicator.hpp"
#include "run/options.hpp"
#include "run/session.hpp"

namespace tessera::inline v1::memory_probes {

/// Runs or plans the points of a request. Collective.
[[nodiscard]] ExitCode run_all(const mpi::Communicator& comm, const run::OptionSet& set,
                               const run::Parsed& parsed,
                               const std::vector<std::string>& arguments);

/// Removes the options of CPU walks if --kernel names probes of the GPU. Throws Error(usage) for
/// options that conflict.
void sort_out(run::Parsed& parsed);
[[nodiscard]] bool on_device(const run::Values& point);
/// Runs one GPU probe; returns whether its result was correct. Collective.
[[nodiscard]] bool run_on_device(const mpi::Communicator& comm, const run::Values& point,
                                 const run::Parsed& parsed, run::Session& session);
void plan_on_device(const mpi::Communicator& comm, const run::Values& point);

/// Simulated counts of one run of a probe, per touch.
struct Simulated {
  double l1_misses = 0, l2_misses = 0,
         llc_misses = 0;    ///< demand, not prefetched; in this machine's caches
  double l1_conflicts = 0;  ///< part of l1_misses: beyond a fully associative cache
  double true_sharing = 0, false_sharing = 0;  ///< between private caches
};

/// Simulates the walk; for sharing probes its first rounds.
[[nodiscard]] Simulated simulate(const memory::ProbeVariant& probe, memory::Walk walk);

}  // namespace tessera::inline v1::memory_probes
