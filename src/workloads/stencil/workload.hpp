#pragma once
// Steps of a stencil as the frame sees it.

#include <memory>

#include "workloads/frame/workload.hpp"
#include "workloads/stencil/problem.hpp"

namespace tessera::workloads::stencil {

[[nodiscard]] Workload workload(const run::OptionSet& options);

/// What can be done with a point, in memory or out of core. Collective.
[[nodiscard]] PointActions actions_of(const mpi::Communicator& comm,
                                      const std::shared_ptr<Inputs>& inputs);

}  // namespace tessera::workloads::stencil
