#pragma once
// Options of `tessera scalability`.

#include "run/options.hpp"

namespace tessera::apps {

[[nodiscard]] run::OptionSet scalability_options();
/// Throws Error(usage) for options that were given and that the workload does not use.
void refuse_idle_scalability(const run::Parsed& parsed);

}  // namespace tessera::apps
