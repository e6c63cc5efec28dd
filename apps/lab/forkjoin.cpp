#include <fmt/core.h>

#include "base/table.hpp"
#include "base/text.hpp"
#include "commands/command.hpp"
#include "lab/forkjoin/study.hpp"
#include "lab/locality/points.hpp"
#include "run/common_options.hpp"
#include "run/threads.hpp"

namespace tessera::apps {
namespace {

namespace lab = tessera::microscope;

void add_computation(run::OptionSet& set) {
  std::vector<std::string> names;
  for (const lab::Program& one : lab::programs()) names.emplace_back(one.kernel);
  set.add({.name = "kernel",
           .kind = run::Kind::choice,
           .fallback = join(names, ","),
           .help = "Select the probes of forkjoin to record",
           .group = "Computation",
           .choices = names,
           .axis = true});
  set.add({.name = "n",
           .kind = run::Kind::integer,
           .help = "Set the size, and examine it in detail. Default: work and span of four sizes "
                   "of each probe, with the powers fitted to them.",
           .group = "Computation",
           .axis = true,
           .low = 0,
           .high = 1e9});
  set.add({.name = "threshold",
           .kind = run::Kind::integer,
           .help = "Set the size of the leaves. Default: a small one of the probe.",
           .group = "Computation",
           .axis = true,
           .low = 1,
           .high = 1e9});
  set.add({.name = "draw",
           .kind = run::Kind::flag,
           .help = "Draw the graph of strands and the states of lines. Up to 400 strands in text; "
                   "up to 20000 in the pictures of the report.",
           .group = "Computation"});
}

void add_scheduler(run::OptionSet& set) {
  set.add({.name = "processors",
           .fallback = "1,2,4,8,16",
           .help = "Set the numbers of simulated workers",
           .group = "Scheduler",
           .value = "P,..."});
  set.add({.name = "seed",
           .kind = run::Kind::integer,
           .fallback = "1",
           .help = "Set the seed of the choice of victims",
           .group = "Scheduler",
           .axis = true,
           .low = 0,
           .high = run::most_size});
  set.add({.name = "measure",
           .help = "Measure the probe on these numbers of threads, too",
           .group = "Scheduler",
           .value = "N,..."});
  set.add({.name = "repetitions",
           .kind = run::Kind::integer,
           .fallback = "5",
           .help = "Set the runs measured on each number of threads",
           .group = "Scheduler",
           .identity = false,
           .low = 1,
           .high = 1e6});
}

void add_caches(run::OptionSet& set) {
  set.add({.name = "cache",
           .fallback = "4KiB:full",
           .help = "Set the private cache of a worker. BYTES:WAYS, full: fully associative; none: "
                   "count operations only.",
           .group = "Caches",
           .value = "CACHE"});
  set.add({.name = "shared-cache",
           .fallback = "1MiB:16",
           .help = "Set the cache behind the private ones. BYTES:WAYS.",
           .group = "Caches",
           .value = "CACHE"});
  set.add({.name = "line",
           .kind = run::Kind::bytes,
           .fallback = "64",
           .help = "Set the bytes of a cache line",
           .group = "Caches",
           .axis = true,
           .low = 8,
           .high = 4096});
  set.add({.name = "protocol",
           .kind = run::Kind::choice,
           .fallback = "mesi",
           .help = "Select the coherence protocol of the private caches. msi and mesi write "
                   "modified lines back, write_through stores every word at once.",
           .group = "Caches",
           .choices = {"msi", "mesi", "write_through"},
           .axis = true});
}

run::OptionSet forkjoin_options() {
  run::OptionSet set("forkjoin", "Count work, span, steals and misses of task kernels",
                     {"tessera forkjoin                       # work and span of all probes",
                      "tessera forkjoin --kernel fib --n 5 --draw",
                      "tessera forkjoin --kernel mergesort_parallel_merge --n 4096",
                      "tessera forkjoin --kernel scan --n 4096 --protocol msi,mesi,write_through",
                      "tessera forkjoin --kernel fft --n 1024 --draw --results f.h5",
                      "tessera report f.h5                    # speed-up, misses, schedules"});
  add_computation(set);
  add_scheduler(set);
  add_caches(set);
  run::add_results(set, {"computations and schedules", "Examine", "Files"});
  run::add_title(set);
  run::add_config(set);
  set.lead_with({"kernel", "n", "processors", "measure", "cache", "draw", "results"});
  return set;
}

std::vector<int> counts_of(const std::string& option, const std::string& text, int most) {
  std::vector<int> counts;
  for (const std::string& word : split(text, ',')) {
    const std::string count(trim(word));
    const bool is_number = !count.empty() && count.size() < 6 &&
                           count.find_first_not_of("0123456789") == std::string::npos;
    const int value = is_number ? std::stoi(count) : 0;
    require(value >= 1 && value <= most, ExitCode::usage,
            fmt::format("--{}: '{}' is not a number from 1 to {}", option, word, most));
    counts.push_back(value);
  }
  return counts;
}

lab::Caches caches_of(const run::Values& point) {
  const index_t line = point.bytes("line");
  const auto geometry = [&](const char* option) {
    try {
      return tessera::locality::parse_geometry(point.text(option), line);
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("--{}: {}", option, error.what()));
    }
  };
  const std::string& protocol = point.text("protocol");
  using tessera::locality::Protocol;
  lab::Caches caches{geometry("cache"), geometry("shared-cache"),
                     protocol == "msi"    ? Protocol::msi
                     : protocol == "mesi" ? Protocol::mesi
                                          : Protocol::write_through};
  require(caches.own.line_bytes == line && caches.shared.line_bytes == line, ExitCode::usage,
          "--cache sets a line size other than --line: both levels require the same one");
  return caches;
}

lab::Request request_of(const run::Values& point) {
  constexpr int most_workers = 1024;
  const lab::Program& program = lab::program(point.text("kernel"));
  lab::Request request{
      .program = &program,
      .n = point.has("n") ? std::optional(point.integer("n")) : std::nullopt,
      .threshold = point.has("threshold") ? point.integer("threshold") : program.threshold,
      .processors = counts_of("processors", point.text("processors"), most_workers),
      .threads = {},
      .seed = static_cast<std::uint64_t>(point.integer("seed")),
      .caches = {},
      .draws = point.flag("draw"),
      .repetitions = point.integer("repetitions")};
  if (point.has("measure"))
    request.threads = counts_of("measure", point.text("measure"), most_workers);
  for (const int threads : request.threads) run::require_threads(threads);
  if (point.text("cache") != "none") request.caches = caches_of(point);
  return request;
}

/// Throws Error(usage) for options that need a size.
void refuse_idle(const run::Parsed& parsed) {
  if (!parsed.lists.at("n").empty() && !parsed.lists.at("n").front().empty()) return;
  for (const char* option :
       {"processors", "measure", "cache", "shared-cache", "line", "protocol", "seed", "draw"}) {
    const std::string& source = parsed.sources.at(option);
    require(source == "default" || source == "environment", ExitCode::usage,
            fmt::format("--{} examines one size; add --n", option));
  }
}

}  // namespace

Command forkjoin_command() {
  static const run::OptionSet set = forkjoin_options();
  return {set, [](const run::Parsed& parsed, const Arguments& arguments, ExitCode&) -> Body {
            refuse_idle(parsed);
            for (const run::Values& point : set.points(parsed)) (void)request_of(point);
            return [parsed, arguments](const mpi::Communicator& comm) {
              std::vector<lab::Study> sizes;
              const auto last = [&] {
                if (!sizes.empty()) fmt::print("{}", lab::growth_of(sizes, terminal_columns()));
              };
              return tessera::locality::trace_points(
                  {comm, set, parsed, arguments, last}, "",
                  [&](const std::string& key, const run::Values& point) {
                    lab::Study study = lab::examine(request_of(point));
                    auto tables = lab::tables_of(key, study);
                    if (study.request.n) {
                      fmt::print("{}\n", lab::text_of(study, terminal_columns()));
                    } else {
                      sizes.push_back(std::move(study));
                    }
                    return tables;
                  });
            };
          }};
}

}  // namespace tessera::apps
