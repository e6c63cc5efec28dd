#pragma once
// The options that every workload has.

#include "run/options.hpp"

namespace tessera::run {

/// --out, --overwrite, --results, --repetitions, --plan, --memory, --stall-limit, --config, ...: declared
/// once.
void add_common_options(OptionSet& options);

}  // namespace tessera::run
