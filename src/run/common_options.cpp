#include "run/common_options.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "run/threads.hpp"

namespace tessera::run {
namespace {

void add_machine_options(OptionSet& options) {
  options.add(
      {.name = "threads",
       .kind = Kind::integer,
       .fallback = "0",
       .help = "OpenMP threads a rank; 0: OMP_NUM_THREADS, or this rank's share of the cores",
       .group = "Machine",
       .axis = true,
       .differs = true,
       .low = 0,
       .high = most_threads});
  options.add({.name = "memory",
               .kind = Kind::bytes,
               .help = "most memory that a rank may have resident, the program and its libraries "
                       "with it (512MiB, 1.5G); "
                       "default: 90 % of what the node has free",
               .group = "Machine",
               .identity = false,
               .differs = true,
               .low = 0});
  options.add(
      {.name = "stall-limit",
       .kind = Kind::real,
       .fallback = "600",
       .help = "seconds without progress after which the job ends with exit code 75; 0: never",
       .group = "Machine",
       .identity = false,
       .differs = true,
       .low = 0});
}

void add_measuring_options(OptionSet& options, const CommonDefaults& defaults) {
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
  options.add(
      {.name = "counters",
       .kind = Kind::flag,
       .help =
           "count cycles, instructions, cache misses and vector instructions of the timed part; "
           "where the machine does not let us, misses are simulated",
       .group = "Measuring",
       .identity = false});
  options.add(
      {.name = "results",
       .help = "HDF5 file to append timings and provenance to; points it already holds are skipped",
       .group = "Measuring",
       .identity = false});
  options.add({.name = "again",
               .kind = Kind::flag,
               .help = "measure points again that the results file already holds",
               .group = "Measuring",
               .identity = false});
}

}  // namespace

void add_common_options(OptionSet& options, const CommonDefaults& defaults) {
  add_machine_options(options);
  add_measuring_options(options, defaults);
  add_title(options);
  options.add({.name = "no-verify",
               .kind = Kind::flag,
               .help = "skip the check of the result",
               .group = "Checking",
               .identity = false});
  options.add({.name = "config",
               .help = "TOML file with any of these options as keys",
               .group = "Files",
               .identity = false,
               .differs = true});
  options.add({.name = "plan",
               .kind = Kind::flag,
               .help = "print what a run would take, and stop: memory, and of workloads messages, "
                       "bytes and time",
               .group = "Files",
               .identity = false});
}

// Part of a point's identity: studies that share a file and points keep separate results.
void add_title(OptionSet& options) {
  options.add(
      {.name = "title",
       .help = "the study that the results belong to: `tessera report` collects them under it",
       .group = "Measuring"});
}

void add_seed(OptionSet& options, const std::string& of_what) {
  options.add({.name = "seed",
               .kind = Kind::integer,
               .fallback = "1",
               .help = of_what,
               .group = "Data",
               .low = 0,
               .high = most_size});
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

void add_values_options(OptionSet& options, const std::string& others) {
  options.add({.name = "fill",
               .help = "what cells without a value are (those of _FillValue, missing_value or "
                       "beyond valid_range): "
                       "nan, or a number" +
                       others + "; without it they end with exit code 65",
               .group = "Data"});
  options.add({.name = "raw",
               .kind = Kind::flag,
               .help = "take the numbers as they are stored, whatever scale_factor, add_offset and "
                       "_FillValue say",
               .group = "Data"});
}

void add_output_options(OptionSet& options) {
  options.add(
      {.name = "overwrite",
       .kind = Kind::flag,
       .help =
           "replace an output of ours that exists, the whole file; in a file of others the dataset "
           "of that name alone",
       .group = "Files",
       .identity = false});
  options.add({.name = "verify-output",
               .kind = Kind::choice,
               .fallback = "auto",
               .help = "how much of the written file is read back and compared",
               .group = "Checking",
               .choices = {"auto", "all", "sample", "off"},
               .identity = false});
}

void add_job_options(OptionSet& options, const std::string& resume_help) {
  options.add({.name = "timeline",
               .kind = Kind::flag,
               .help = "keep when every rank began and ended each phase of the last repetition",
               .group = "Measuring",
               .identity = false});
  options.add({.name = "resume", .help = resume_help, .group = "Files", .identity = false});
  options.add(
      {.name = "part",
       .help = "I/N: every N-th point of the sweep from the I-th on, for the tasks of a job array",
       .group = "Measuring",
       .identity = false});
}

SweepPart parse_part(const std::string& text) {
  const auto words = split(text, '/');
  SweepPart part;
  bool right = words.size() == 2;
  for (std::size_t w = 0; right && w < 2; ++w) {
    right = !words[w].empty() && words[w].size() < 10 &&
            words[w].find_first_not_of("0123456789") == std::string::npos;
    if (right) (w == 0 ? part.number : part.count) = std::stoll(words[w]);
  }
  require(right && part.number >= 1 && part.number <= part.count, ExitCode::usage,
          fmt::format("--part '{}' is no part; write I/N with I from 1 to N, e.g. 2/8", text));
  return part;
}

}  // namespace tessera::run
