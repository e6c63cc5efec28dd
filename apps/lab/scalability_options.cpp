#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "kernels/forkjoin/variants.hpp"
#include "kernels/matmul/variants.hpp"
#include "kernels/sort/variants.hpp"
#include "kernels/stencil/variants.hpp"
#include "kernels/transpose/variants.hpp"
#include "run/common_options.hpp"
#include "scalability.hpp"

namespace tessera::apps::scalability {
namespace {

const std::vector<std::string> workloads{"matmul", "transpose", "stencil", "sort", "forkjoin"};

void add_data(run::OptionSet& set) {
  set.add({.name = "workload",
           .kind = run::Kind::choice,
           .fallback = "forkjoin",
           .help = "whose kernels",
           .group = "What",
           .choices = workloads,
           .positional = true});
  set.add({.name = "kernel",
           .help = "names of kernels on the host (tessera list); default: the first that forks",
           .group = "What",
           .axis = true});
  set.add({.name = "n",
           .kind = run::Kind::integer,
           .help = "edge of matrices and fields, number of keys, n of a probe (default: the kernel's own)",
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
  set.add({.name = "processors",
           .kind = run::Kind::integer,
           .fallback = "16",
           .help = "bounds for 2, 4, 8, ... up to so many, and for every number of threads measured",
           .group = "Bounds",
           .identity = false,
           .low = 1,
           .high = 4096});
  set.add({.name = "recordings",
           .kind = run::Kind::integer,
           .fallback = "3",
           .help = "serial runs that record work and span; of each the least counts, for noise only adds",
           .group = "Bounds",
           .identity = false,
           .low = 1,
           .high = 1000});
  set.add({.name = "burden",
           .kind = run::Kind::real,
           .help = "microseconds that a stolen fork costs (default: as `tessera machine` measured it here)",
           .group = "Bounds",
           .identity = false,
           .low = 0,
           .high = 1e6});
}

std::vector<VariantInfo> kernels_of(const std::string& workload) {
  if (workload == "matmul") return infos(tessera::matmul::variants());
  if (workload == "transpose") return infos(tessera::transpose::variants());
  if (workload == "stencil") return infos(tessera::stencil::variants());
  if (workload == "sort") return infos(tessera::sort::variants());
  return infos(forkjoin::variants());
}

std::string default_kernel(const std::string& workload) {
  if (workload == "forkjoin") return "fib";
  return workload == "sort" ? "mergesort" : "cache_oblivious";
}

std::string default_size(const std::string& workload) {
  if (workload == "matmul") return "1024";
  if (workload == "transpose") return "4096";
  return workload == "stencil" ? "2048" : "10000000";
}

void complete_probe(run::Values& point, const forkjoin::Variant& probe) {
  if (!point.has("n")) point.set("n", std::to_string(probe.n));
  if (!point.has("threshold")) point.set("threshold", std::to_string(probe.threshold));
  require(point.integer("n") <= probe.most, ExitCode::usage,
          fmt::format("--n {} is more than {} takes; give at most {}", point.integer("n"), probe.name,
                      probe.most));
}

}  // namespace

run::OptionSet declare() {
  run::OptionSet set("scalability", "work, span and speed-up bounds of task kernels, beside measured times",
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

void refuse_idle(const run::Parsed& parsed) {
  const std::string& workload = parsed.lists.at("workload").front();
  const auto given = [&](const std::string& option) { return parsed.sources.at(option) != "default"; };
  for (const char* option : {"stencil", "steps"})
    require(workload == "stencil" || !given(option), ExitCode::usage,
            fmt::format("--{} is for stencil and this is {}; drop it", option, workload));
  require(workload != "forkjoin" || !given("type"), ExitCode::usage,
          "--type is for the kernels of workloads, and each probe of forkjoin has its own; drop it");
}

run::Values completed(const run::Values& point) {
  run::Values result = point;
  const std::string& workload = point.text("workload");
  if (!point.has("kernel")) result.set("kernel", default_kernel(workload));
  const std::string& kernel = result.text("kernel");
  const auto rows = kernels_of(workload);
  std::vector<std::string> names;
  for (const VariantInfo& row : rows) {
    if (row.space == Space::host) names.emplace_back(row.name);
  }
  require(std::find(names.begin(), names.end(), kernel) != names.end(), ExitCode::usage,
          fmt::format("{} has no kernel '{}' on the host{}", workload, kernel, suggestion(kernel, names)));
  require_library(
      *std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.name == kernel; }));
  if (workload == "forkjoin") {
    complete_probe(result, *find_variant(forkjoin::variants(), kernel));
    return result;
  }
  require(!point.has("threshold"), ExitCode::usage,
          fmt::format("--threshold is an option of the forkjoin probes; the kernels of {} choose their own",
                      workload));
  if (!point.has("n")) result.set("n", default_size(workload));
  if (point.text("type") == "auto") result.set("type", workload == "sort" ? "u64" : "f64");
  const std::string& type = result.text("type");
  require(workload == "sort" || type.starts_with('f'), ExitCode::usage,
          fmt::format("{} computes in f32 or f64, not in {}", workload, type));
  return result;
}

}  // namespace tessera::apps::scalability
