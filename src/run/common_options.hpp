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

/// --title of a study, for commands with results.
void add_title(OptionSet& options);

/// --seed "of ..."; --kernel, auto or one of the names; --ranks of a plan: what every distributed workload
/// has at a place of its own among its options.
void add_seed(OptionSet& options, const std::string& of_what);
void add_kernel(OptionSet& options, std::vector<std::string> names);
void add_plan_ranks(OptionSet& options);

/// The names in a table of variants or algorithms.
template <class Rows>
[[nodiscard]] std::vector<std::string> names_of(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(row.name);
  return names;
}

}  // namespace tessera::run
