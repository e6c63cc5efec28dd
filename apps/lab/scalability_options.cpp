#include "scalability_options.hpp"

#include <fmt/core.h>

#include "lab/scalability/scalability.hpp"
#include "run/common_options.hpp"

namespace tessera::apps {
namespace {

void add_data(run::OptionSet& set) {
  set.add({.name = "workload",
           .kind = run::Kind::choice,
           .fallback = "forkjoin",
           .help = "Select the workload",
           .group = "What",
           .choices = scalability::workloads(),
           .positional = true});
  set.add({.name = "kernel",
           .help = "Select kernels of the host (see tessera list). Default: the first that forks.",
           .group = "What",
           .value = "NAME",
           .axis = true});
  set.add({.name = "n",
           .kind = run::Kind::integer,
           .help = "Set the size of the problem. Edge of matrices and fields, number of keys, n of "
                   "a probe; default: that of the kernel.",
           .group = "What",
           .axis = true,
           .low = 0,
           .high = 1e12});
  set.add({.name = "threshold",
           .kind = run::Kind::integer,
           .help = "Set the serial threshold of forkjoin. Default: that of the probe.",
           .group = "What",
           .axis = true,
           .low = 1,
           .high = 1e12});
  set.add({.name = "type",
           .kind = run::Kind::choice,
           .fallback = "auto",
           .help = "Select the element or key type. auto: f64, for sort u64.",
           .group = "What",
           .choices = {"auto", "f32", "f64", "u32", "u64"},
           .axis = true});
  set.add({.name = "stencil",
           .fallback = "heat",
           .help = "Select the two-dimensional stencil",
           .group = "What",
           .value = "NAME",
           .axis = true});
  set.add({.name = "steps",
           .kind = run::Kind::integer,
           .fallback = "32",
           .help = "Set the time steps of a stencil",
           .group = "What",
           .axis = true,
           .low = 0,
           .high = 1e6});
}

void add_method(run::OptionSet& set) {
  set.add({.name = "processors",
           .kind = run::Kind::integer,
           .fallback = "16",
           .help = "Compute bounds for up to N processors. For 2, 4, 8, ... and for every number "
                   "of threads measured.",
           .group = "Bounds",
           .identity = false,
           .low = 1,
           .high = 4096});
  set.add({.name = "recordings",
           .kind = run::Kind::integer,
           .fallback = "3",
           .help = "Set the serial runs that record work and span. The least time of each strand "
                   "counts, because noise only adds.",
           .group = "Bounds",
           .identity = false,
           .low = 1,
           .high = 1000});
  set.add({.name = "burden",
           .kind = run::Kind::real,
           .help = "Set the microseconds that a stolen fork costs. Default: as measured by tessera "
                   "machine.",
           .group = "Bounds",
           .identity = false,
           .low = 0,
           .high = 1e6});
}

}  // namespace

run::OptionSet scalability_options() {
  run::OptionSet set(
      "scalability", "Measure work, span and speed-up of task kernels",
      {"tessera scalability sort --kernel mergesort --n 1e7",
       "tessera scalability matmul --n 512,1024,2048 --processors 64",
       "tessera scalability forkjoin --kernel fib --n 36 --threshold 1,8,16,24",
       "tessera scalability forkjoin --kernel loops_parallel_inside",
       "tessera scalability sort --n 1e7 --results s.h5  # then: tessera report s.h5"});
  add_data(set);
  add_method(set);
  run::add_common_options(set);
  set.lead_with({"workload", "kernel", "n", "processors", "threads", "results"});
  return set;
}

void refuse_idle_scalability(const run::Parsed& parsed) {
  const std::string& workload = parsed.lists.at("workload").front();
  const auto given = [&](const std::string& option) {
    return parsed.sources.at(option) != "default";
  };
  for (const char* option : {"stencil", "steps"})
    require(workload == "stencil" || !given(option), ExitCode::usage,
            fmt::format("--{} applies to stencil: the workload is {}; drop it", option, workload));
  require(workload != "forkjoin" || !given("type"), ExitCode::usage,
          "--type does not apply to forkjoin: each probe has a fixed type; drop it");
}

}  // namespace tessera::apps
