#pragma once
// The options that several commands have.

#include "run/options.hpp"

namespace tessera::run {

/// The largest size or seed that an option takes: the sum of two is still an index_t.
inline constexpr double most_size = 4e18;

/// What a command does unless it is told otherwise.
struct CommonDefaults {
  const char* repetitions = "5";
  const char* warmups = "1";
};

/// --results, --repetitions, --plan, --memory, --stall-limit, --config, ... of whatever is
/// measured.
void add_common_options(OptionSet& options, const CommonDefaults& defaults = {});

/// --title of a study, for commands with results.
void add_title(OptionSet& options);

/// --seed "of ..."; --kernel, auto or one of the names; --ranks of a plan: what every distributed
/// workload has at a place of its own among its options.
void add_seed(OptionSet& options, const std::string& of_what);
void add_kernel(OptionSet& options, std::vector<std::string> names);
void add_plan_ranks(OptionSet& options);

/// --fill, --raw: where values are computed with. others: what else --fill may be, ", or ...".
void add_values_options(OptionSet& options, const std::string& others = "");

/// --overwrite, --verify-output: where --out can be given.
void add_output_options(OptionSet& options);

/// --resume and --part: what a job needs that may be stopped, and that shares a sweep with others;
/// --timeline of the ranks' phases.
void add_job_options(OptionSet& options, const std::string& resume_help);

/// --part I/N.
struct SweepPart {
  index_t number = 1, count = 1;
};
[[nodiscard]] SweepPart parse_part(const std::string& text);  ///< throws Error(usage)

/// The names in a table of variants or algorithms.
template <class Rows>
[[nodiscard]] std::vector<std::string> names_of(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(row.name);
  return names;
}

}  // namespace tessera::run
