#pragma once
// The options that every workload has.

#include "run/options.hpp"

namespace tessera::run {

/// What a workload does unless it is told otherwise.
struct CommonDefaults {
  const char* repetitions = "5";
  const char* warmups = "1";
};

/// --out, --overwrite, --results, --repetitions, --plan, --memory, --stall-limit, --config, ...: declared
/// once.
void add_common_options(OptionSet& options, const CommonDefaults& defaults = {});

}  // namespace tessera::run
