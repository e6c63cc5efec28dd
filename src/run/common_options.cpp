#include "run/common_options.hpp"

#include <fmt/core.h>

#include "base/text.hpp"
#include "run/threads.hpp"

namespace tessera::inline v1::run {
namespace {

void add_machine_options(OptionSet& options) {
  options.add({.name = "threads",
               .kind = Kind::integer,
               .fallback = "0",
               .help = "Set the OpenMP threads of a rank. 0: OMP_NUM_THREADS, or the rank's share "
                       "of the cores.",
               .group = "Machine",
               .axis = true,
               .differs = true,
               .low = 0,
               .high = most_threads});
  options.add({.name = "memory",
               .kind = Kind::bytes,
               .help =
                   "Limit the resident memory of a rank. 512MiB, 1.5G; counts the program and its "
                   "libraries. Default: 90 % of the free memory of the node, shared by its ranks.",
               .group = "Machine",
               .identity = false,
               .differs = true,
               .low = 0});
  options.add({.name = "stall-limit",
               .kind = Kind::real,
               .fallback = "600",
               .help = "End the job after X seconds without progress. Exit code 75; 0: never.",
               .group = "Machine",
               .identity = false,
               .differs = true,
               .low = 0});
}

void add_measuring_options(OptionSet& options, const CommonDefaults& defaults) {
  options.add({.name = "repetitions",
               .kind = Kind::integer,
               .fallback = defaults.repetitions,
               .help =
                   "Set the number of timed repetitions. All are kept. One, without warm-up, for a "
                   "single point with an output and no results file.",
               .group = "Measuring",
               .identity = false,
               .low = 1,
               .high = 1e6});
  options.add({.name = "warmups",
               .kind = Kind::integer,
               .fallback = defaults.warmups,
               .help = "Set the number of untimed repetitions before them",
               .group = "Measuring",
               .identity = false,
               .low = 0,
               .high = 1e6});
  options.add(
      {.name = "counters",
       .kind = Kind::flag,
       .help =
           "Count cycles, instructions and cache misses. Of the timed part, vector instructions "
           "included; misses are simulated where the machine denies access to its counters.",
       .group = "Measuring",
       .identity = false});
  add_results(options, {"timings and provenance", "Measure", "Measuring"});
}

}  // namespace

void add_common_options(OptionSet& options, const CommonDefaults& defaults) {
  add_machine_options(options);
  add_measuring_options(options, defaults);
  add_title(options);
  options.add({.name = "no-verify",
               .kind = Kind::flag,
               .help = "Skip the check of the result",
               .group = "Checking",
               .identity = false});
  add_config(options);
  options.add({.name = "plan",
               .kind = Kind::flag,
               .help = "Print the plan and stop (dry run). Memory; for workloads also messages, "
                       "bytes and predicted time.",
               .group = "Files",
               .identity = false});
}

// Part of a point's identity: studies that share a file and points keep separate results.
void add_results(OptionSet& options, const ResultsHelp& help) {
  options.add({.name = "results",
               .help = fmt::format("Append {} to an HDF5 file. Skips points that it already holds.",
                                   help.contents),
               .group = help.group,
               .value = "FILE",
               .identity = false});
  options.add({.name = "again",
               .kind = Kind::flag,
               .help = fmt::format("{} points again that --results already holds", help.verb),
               .group = help.group,
               .identity = false});
}

void add_config(OptionSet& options) {
  options.add({.name = "config",
               .help = "Read options from a TOML file. Its keys are the names of the options.",
               .group = "Files",
               .value = "FILE",
               .identity = false,
               .differs = true});
}

void add_title(OptionSet& options) {
  options.add(
      {.name = "title",
       .help = "Name the study that the results belong to. tessera report groups results by it.",
       .group = "Measuring"});
}

void add_seed(OptionSet& options, const std::string& what) {
  options.add({.name = "seed",
               .kind = Kind::integer,
               .fallback = "1",
               .help = "Seed the generated " + what + " and the check",
               .group = "Data",
               .low = 0,
               .high = most_size});
}

void mention_many_files(Option& input) {
  input.help += " 'runs/*.h5:/u': each file in turn; {name} in --out is its name.";
}

Option& add_matrix_input(OptionSet& options, const std::string& option, const std::string& matrix) {
  return options.add(
      {.name = option,
       .help = fmt::format("Read {} from a dataset or a part of it. FILE:/PATH or, in the "
                           "notation of numpy, FILE:/PATH[:100,3,-50:]; generated when "
                           "absent.",
                           matrix),
       .group = "Data",
       .value = "DATASET"});
}

void add_scaled_input(OptionSet& options) {
  options.add({.name = "c",
               .help = "Read C, the matrix that --beta scales. Generated when absent.",
               .group = "Data",
               .value = "DATASET"});
}

void add_kernel(OptionSet& options, std::vector<std::string> names) {
  names.insert(names.begin(), "auto");
  options.add({.name = "kernel",
               .kind = Kind::choice,
               .fallback = "auto",
               .help = "Select the kernel that each rank runs",
               .group = "Method",
               .choices = std::move(names),
               .axis = true});
}

void add_plan_ranks(OptionSet& options) {
  options.add({.name = "ranks",
               .kind = Kind::integer,
               .help = "Plan for N ranks instead of those that run. Requires --plan.",
               .group = "Machine",
               .identity = false,
               .low = 1,
               .high = 4096});
}

void add_values_options(OptionSet& options, const std::string& others) {
  options.add(
      {.name = "fill",
       .help =
           "Replace cells without a value by nan or a number. Such cells are marked by _FillValue, "
           "missing_value or valid_range; without --fill they end the run with exit code 65." +
           others,
       .group = "Data",
       .value = "X"});
  options.add(
      {.name = "raw",
       .kind = Kind::flag,
       .help = "Take packed numbers as stored. Ignores scale_factor, add_offset and _FillValue.",
       .group = "Data"});
}

void add_output_options(OptionSet& options) {
  options.add({.name = "overwrite",
               .kind = Kind::flag,
               .help = "Replace an existing output. An output of Tessera is replaced as a whole; "
                       "in another file only the dataset of that name.",
               .group = "Files",
               .identity = false});
  options.add({.name = "compress",
               .help = "Compress the outputs, in chunks. gzip:LEVEL, shuffle and fletcher32, "
                       "several with commas: shuffle,gzip:1; none: no filter.",
               .group = "Files",
               .value = "FILTERS",
               .identity = false});
  options.add({.name = "chunks",
               .help = "Store the outputs in chunks, 64x64x64 or auto. Dimensions without a number "
                       "stay whole; auto: at most 1 MiB, as with --compress alone.",
               .group = "Files",
               .value = "EXTENTS",
               .identity = false});
  options.add({.name = "like",
               .help =
                   "Store the outputs like a dataset. Its chunks and filters; 'input': those of "
                   "the input (matmul: of A), with axes in the output's order.",
               .group = "Files",
               .value = "FILE:/D",
               .identity = false});
  options.add({.name = "verify-output",
               .kind = Kind::choice,
               .fallback = "auto",
               .help = "Select how much of the output is read back",
               .group = "Checking",
               .choices = {"auto", "all", "sample", "off"},
               .identity = false});
}

void add_job_options(OptionSet& options, const std::string& how) {
  options.add({.name = "timeline",
               .kind = Kind::flag,
               .help = "Record begin and end of every phase of each rank. For the last repetition; "
                       "stored in --results.",
               .group = "Measuring",
               .identity = false});
  options.add({.name = "resume",
               .help = "Resume a stopped run. " + how,
               .group = "Files",
               .value = "auto",
               .identity = false});
  options.add({.name = "part",
               .help = "Run part I of N of the sweep. Every N-th point from the I-th on, for the "
                       "tasks of a job array.",
               .group = "Measuring",
               .value = "I/N",
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
  require(
      right && part.number >= 1 && part.number <= part.count, ExitCode::usage,
      fmt::format("--part '{}' is not a valid part; write I/N with I from 1 to N, e.g. 2/8", text));
  return part;
}

}  // namespace tessera::inline v1::run
