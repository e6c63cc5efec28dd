#include "scalability_options.hpp"

#include <fmt/format.h>

#include "lab/scalability/scalability.hpp"
#include "run/common_options.hpp"

namespace tessera::apps {
namespace {

void add_data(run::OptionSet& set) {
  set.add({.name = "workload",
           .kind = run::Kind::choice,
           .fallback = "forkjoin",
           .help = "whose kernels",
           .group = "What",
           .choices = scalability::workloads(),
           .positional = true});
  set.add({.name = "kernel",
           .help = "names of kernels on the host (tessera list); default: the first that forks",
           .group = "What",
           .axis = true});
  set.add(
      {.name = "n",
       .kind = run::Kind::integer,
       .help =
           "edge of matrices and fields, number of keys, n of a probe (default: the kernel's own)",
       .group = "What",
       .axis = true,
       .low = 0,
       .high = 1e12});
  set.add({.name = "threshold",
           .kind = run::Kind::integer,
           .help = "forkjoin: where it stops to fork (default: the probe's own)",
           .group = "What",
           .axis = true,
           .low = 1,
           .high = 1e12});
  set.add({.name = "type",
           .kind = run::Kind::choice,
           .fallback = "auto",
           .help = "element or key (auto: f64; sort: u64)",
           .group = "What",
           .choices = {"auto", "f32", "f64", "u32", "u64"},
           .axis = true});
  set.add({.name = "stencil",
           .fallback = "heat",
           .help = "stencil: which, in two dimensions",
           .group = "What",
           .axis = true});
  set.add({.name = "steps",
           .kind = run::Kind::integer,
           .fallback = "32",
           .help = "stencil: time steps",
           .group = "What",
           .axis = true,
           .low = 0,
           .high = 1e6});
}

void add_method(run::OptionSet& set) {
  set.add(
      {.name = "processors",
       .kind = run::Kind::integer,
       .fallback = "16",
       .help = "bounds for 2, 4, 8, ... up to so many, and for every number of threads measured",
       .group = "Bounds",
       .identity = false,
       .low = 1,
       .high = 4096});
  set.add(
      {.name = "recordings",
       .kind = run::Kind::integer,
       .fallback = "3",
       .help =
           "serial runs that record work and span; of each the least counts, for noise only adds",
       .group = "Bounds",
       .identity = false,
       .low = 1,
       .high = 1000});
  set.add(
      {.name = "burden",
       .kind = run::Kind::real,
       .help =
           "microseconds that a stolen fork costs (default: as `tessera machine` measured it here)",
       .group = "Bounds",
       .identity = false,
       .low = 0,
       .high = 1e6});
}

}  // namespace

run::OptionSet scalability_options() {
  run::OptionSet set(
      "scalability", "work, span and speed-up bounds of task kernels, beside measured times",
      {"tessera scalability sort --kernel mergesort --n 1e7",
       "tessera scalability matmul --n 512,1024,2048 --processors 64",
       "tessera scalability forkjoin --kernel fib --n 36 --threshold 1,8,16,24",
       "tessera scalability forkjoin --kernel loops_parallel_inside,loops_parallel_outside",
       "tessera scalability sort --n 1e7 --results s.h5      # then: tessera report s.h5"});
  add_data(set);
  add_method(set);
  run::add_common_options(set);
  return set;
}

void refuse_idle_scalability(const run::Parsed& parsed) {
  const std::string& workload = parsed.lists.at("workload").front();
  const auto given = [&](const std::string& option) {
    return parsed.sources.at(option) != "default";
  };
  for (const char* option : {"stencil", "steps"})
    require(workload == "stencil" || !given(option), ExitCode::usage,
            fmt::format("--{} is for stencil and this is {}; drop it", option, workload));
  require(
      workload != "forkjoin" || !given("type"), ExitCode::usage,
      "--type is for the kernels of workloads, and each probe of forkjoin has its own; drop it");
}

}  // namespace tessera::apps
