#pragma once
// The workload stencil.

#include <memory>

#include "workloads/frame/workload.hpp"
#include "workloads/stencil/problem.hpp"

namespace tessera::inline v1::workloads::stencil {

[[nodiscard]] Workload workload(const run::OptionSet& options);

/// Returns the planner of points with these inputs, in memory or out of core.
[[nodiscard]] Resolve resolve_with(std::shared_ptr<const Inputs> inputs);

}  // namespace tessera::inline v1::workloads::stencil
