#pragma once
// A transpose as the frame sees it.

#include <memory>

#include "workloads/frame/workload.hpp"
#include "workloads/transpose/problem.hpp"

namespace tessera::workloads::transpose {

[[nodiscard]] Workload workload(const run::OptionSet& options);

/// What can be done with a point, in memory or out of core. Collective.
[[nodiscard]] PointActions actions_of(const mpi::Communicator& comm,
                                      const std::shared_ptr<Inputs>& inputs);

}  // namespace tessera::workloads::transpose
