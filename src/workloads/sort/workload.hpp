#pragma once
// A sort as the frame sees it.

#include <memory>

#include "workloads/frame/workload.hpp"
#include "workloads/sort/problem.hpp"

namespace tessera::workloads::sort {

[[nodiscard]] Workload workload(const run::OptionSet& options);

/// What can be done with a point, in memory or out of core. Collective.
[[nodiscard]] PointActions actions_of(const mpi::Communicator& comm,
                                      const std::shared_ptr<const Inputs>& inputs);

}  // namespace tessera::workloads::sort
