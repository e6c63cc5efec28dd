#pragma once
// Options shared by several commands.

#include "run/options.hpp"

namespace tessera::inline v1::run {

/// Upper bound of sizes and seeds: the sum of two still fits an index_t.
inline constexpr double most_size = 4e18;

/// Defaults of the common options that differ between commands.
struct CommonDefaults {
  const char* repetitions = "5";
  const char* warmups = "1";
};

/// Adds the options of every measuring command: --results, --repetitions, --plan, --memory,
/// --stall-limit, --config, ...
void add_common_options(OptionSet& options, const CommonDefaults& defaults = {});

/// What help says of --results and --again.
struct ResultsHelp {
  const char *contents, *verb, *group;
};
/// Adds --results, to which a command appends, and --again.
void add_results(OptionSet& options, const ResultsHelp& help);
/// Adds --config.
void add_config(OptionSet& options);

/// Adds --title, the study that results belong to.
void add_title(OptionSet& options);

/// Adds --seed of the generated `what`, --kernel (auto or one of the names), or --ranks of a plan:
/// common to all distributed workloads, each of which declares them where its help lists them.
void add_seed(OptionSet& options, const std::string& what);
void add_kernel(OptionSet& options, std::vector<std::string> names);
void add_plan_ranks(OptionSet& options);
/// Makes the help of an input say that it may name many files (each_file.hpp).
void mention_many_files(Option& input);

/// Adds an input matrix of that name in the help, or --c, the matrix that --beta scales.
Option& add_matrix_input(OptionSet& options, const std::string& option, const std::string& matrix);
void add_scaled_input(OptionSet& options);

/// Adds --fill and --raw, for commands that compute with values. others: sentences about
/// further values of --fill.
void add_values_options(OptionSet& options, const std::string& others = "");

/// Adds --overwrite, --compress, --chunks, --like and --verify-output, for commands with --out.
void add_output_options(OptionSet& options);

/// Adds --resume and --part, for jobs that are interrupted or share a sweep, and --timeline of the
/// ranks' phases.
void add_job_options(OptionSet& options, const std::string& how);

/// Value of --part I/N.
struct SweepPart {
  index_t number = 1, count = 1;
};
[[nodiscard]] SweepPart parse_part(const std::string& text);  ///< throws Error(usage)

/// Returns the names in a table of variants or algorithms.
template <class Rows>
[[nodiscard]] std::vector<std::string> names_of(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(row.name);
  return names;
}

}  // namespace tessera::inline v1::run
