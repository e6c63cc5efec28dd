#include "run/common_options.hpp"

namespace tessera::run {

void add_common_options(OptionSet& options, const CommonDefaults& defaults) {
  options.add({.name = "threads",
               .kind = Kind::integer,
               .fallback = "0",
               .help = "OpenMP threads a rank; 0: OMP_NUM_THREADS, or this rank's share of the cores",
               .group = "Machine",
               .axis = true,
               .low = 0,
               .high = 4096});
  options.add(
      {.name = "memory",
       .kind = Kind::bytes,
       .help =
           "most memory that a rank may plan to use (64MiB, 1.5G); default: 90 % of what the node has free",
       .group = "Machine",
       .identity = false,
       .low = 0});
  options.add({.name = "stall-limit",
               .kind = Kind::real,
               .fallback = "600",
               .help = "seconds without progress after which the job ends with exit code 75; 0: never",
               .group = "Machine",
               .identity = false,
               .low = 0});
  options.add({.name = "repetitions",
               .kind = Kind::integer,
               .fallback = defaults.repetitions,
               .help = "timed repetitions, all kept",
               .group = "Measuring",
               .identity = false,
               .low = 1,
               .high = 1e6});
  options.add({.name = "warmups",
               .kind = Kind::integer,
               .fallback = defaults.warmups,
               .help = "untimed repetitions before them",
               .group = "Measuring",
               .identity = false,
               .low = 0,
               .high = 1e6});
  options.add({.name = "counters",
               .kind = Kind::flag,
               .help = "count cycles, instructions, cache misses and vector instructions of the timed part, "
                       "where the machine lets us",
               .group = "Measuring",
               .identity = false});
  options.add({.name = "results",
               .help = "HDF5 file to append timings and provenance to; points it already holds are skipped",
               .group = "Measuring",
               .identity = false});
  options.add({.name = "again",
               .kind = Kind::flag,
               .help = "measure points again that the results file already holds",
               .group = "Measuring",
               .identity = false});
  add_title(options);
  options.add({.name = "no-verify",
               .kind = Kind::flag,
               .help = "skip the check of the result",
               .group = "Checking",
               .identity = false});
  options.add({.name = "verify-output",
               .kind = Kind::choice,
               .fallback = "auto",
               .help = "how much of the written file is read back and compared",
               .group = "Checking",
               .choices = {"auto", "all", "sample", "off"},
               .identity = false});
  options.add({.name = "overwrite",
               .kind = Kind::flag,
               .help = "replace the whole output file if it exists",
               .group = "Files",
               .identity = false});
  options.add({.name = "config",
               .help = "TOML file with any of these options as keys",
               .group = "Files",
               .identity = false});
  options.add({.name = "plan",
               .kind = Kind::flag,
               .help = "print memory, messages, bytes and predicted time, and stop",
               .group = "Files",
               .identity = false});
}

void add_title(OptionSet& options) {
  options.add({.name = "title",
               .help = "the study that the results belong to: `tessera report` collects them under it",
               .group = "Measuring",
               .identity = false});
}

void add_seed(OptionSet& options, const std::string& of_what) {
  options.add({.name = "seed",
               .kind = Kind::integer,
               .fallback = "1",
               .help = of_what,
               .group = "Data",
               .low = 0,
               .high = 4e18});
}

void add_kernel(OptionSet& options, std::vector<std::string> names) {
  names.insert(names.begin(), "auto");
  options.add({.name = "kernel",
               .kind = Kind::choice,
               .fallback = "auto",
               .help = "what each rank runs",
               .group = "Method",
               .choices = std::move(names),
               .axis = true});
}

void add_plan_ranks(OptionSet& options) {
  options.add({.name = "ranks",
               .kind = Kind::integer,
               .help = "with --plan: plan for so many ranks instead of those that run",
               .group = "Machine",
               .identity = false,
               .low = 1,
               .high = 4096});
}

}  // namespace tessera::run
