#include "lab/locality/simulated_counters.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "kernels/matmul/leaf.hpp"
#include "kernels/stencil/stencil.hpp"
#include "machine/topology.hpp"

namespace tessera::inline v1::locality {
namespace {

/// Returns the loads of the packed kernel per multiply-add: mr elements of A and the vectors of nr
/// elements of B serve mr x nr multiply-adds.
double loads_of_a_product(const Problem& p) {
  const auto of = [](const auto& leaf, double lanes) {
    const auto mr = static_cast<double>(leaf.mr), nr = static_cast<double>(leaf.nr);
    return 1.2 * (mr + nr / lanes) / (mr * nr);  // factor 1.2: packing, and the update of C
  };
  const machine::Isa isa = machine::isa();
  const double bytes = machine::of_isa(isa, 16.0, 32.0, 64.0);
  return p.element_bytes == 4 ? of(matmul::leaf_kernels<float>(isa), bytes / 4)
                              : of(matmul::leaf_kernels<double>(isa), bytes / 8);
}

index_t half(index_t size) { return std::max<index_t>(1, size / 2); }

Problem halved(Problem p) {
  if (p.workload == "stencil" && p.steps > 8) {
    p.steps = half(p.steps);
    return p;
  }
  p.n = half(p.n);
  if (p.workload == "sort") {
    p.range = p.range > 0 ? half(p.range) : 0;
    return p;
  }
  p.m = half(p.m);
  if (p.workload == "matmul") p.k = half(p.k);
  return p;
}

}  // namespace

std::vector<Geometry> machine_caches() {
  std::vector<Geometry> levels{{.bytes = index_t{32} << 10, .ways = 8},
                               {.bytes = index_t{1} << 20, .ways = 16},
                               {.bytes = index_t{32} << 20, .ways = 16}};
  const auto& known = machine::topology().caches;
  const auto of = [&](const char* name) {
    return std::find_if(known.begin(), known.end(),
                        [&](const machine::CacheLevel& c) { return c.name == name && c.ways > 0; });
  };
  for (std::size_t i = 0; i < levels.size(); ++i) {
    constexpr const char* names[] = {"L1d", "L2", "L3"};
    if (const auto cache = of(names[i]); cache != known.end())
      levels[i] = {.bytes = cache->bytes, .ways = cache->ways, .line_bytes = cache->line_bytes};
  }
  for (Geometry& level : levels) level.line_bytes = levels.front().line_bytes;
  return levels;
}

double expected_accesses(const Problem& p) {
  const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n),
             k = static_cast<double>(p.k);
  if (p.workload == "matmul")
    return m * n * k * (p.kernel == "cache_oblivious" ? loads_of_a_product(p) : 2);
  if (p.workload == "transpose") return 2 * m * n;
  if (p.workload == "stencil") {
    const auto taps =
        stencil::named_stencil(p.stencil.empty() ? "box3x3" : p.stencil, p.m == 1 ? 1 : 2)
            .taps.size();
    return m * n * static_cast<double>(p.steps) * static_cast<double>(taps + 1);
  }
  if (p.kernel == "radix") return 35 * n;
  return p.kernel.starts_with("counting") ? 10 * n : 5 * n * std::log2(std::max(2.0, n));
}

LevelMisses misses_behind(const std::vector<Geometry>& caches, const Problem& problem,
                          double most) {
  const TracedKernel& kernel = traced_kernel(problem.workload, problem.kernel);
  LevelMisses result{.problem = problem, .misses = {}};
  while (expected_accesses(result.problem) > most) {
    result.problem = halved(result.problem);
    result.whole = false;
  }
  Tracer tracer;
  Hierarchy levels(caches);
  tracer.attach(levels);
  result.problem = kernel.run(tracer, result.problem);
  result.accesses = levels.loads() + levels.stores();
  for (std::size_t level = 0; level < caches.size(); ++level)
    result.misses.push_back(levels.counts(level).misses());
  return result;
}

std::string sizes_text(const Problem& p) {
  if (p.workload == "sort" || p.workload == "forkjoin") return fmt::format("n {}", p.n);
  if (p.workload == "matmul") return fmt::format("m {} n {} k {}", p.m, p.n, p.k);
  if (p.workload == "stencil")
    return fmt::format("{} on {} x {}, {} steps", p.stencil, p.m, p.n, p.steps);
  return fmt::format("{} x {}", p.m, p.n);
}

namespace {

constexpr double most_accesses = 2e8;  // upper bound of a simulation: about three seconds

run::Counted count(const Problem& problem) {
  const std::vector<std::string> traced = traced_kernels(problem.workload);
  if (std::find(traced.begin(), traced.end(), problem.kernel) == traced.end())
    return run::not_simulated(problem.kernel + " is not traced");
  run::Counted counted{
      .source = "simulated", .reason = {}, .repetitions = {run::unknown_counts}, .what = {}};
  try {
    const LevelMisses found = misses_behind(machine_caches(), problem, most_accesses);
    run::Counts& counts = counted.repetitions.front();
    counts.l1_misses = static_cast<double>(found.misses[0]);
    counts.l2_misses = static_cast<double>(found.misses[1]);
    counts.llc_misses = static_cast<double>(found.misses[2]);
    counted.accesses = static_cast<double>(found.accesses);
    counted.what = sizes_text(found.problem) + (found.whole ? "" : " (smaller)");
  } catch (const Error& error) {
    return run::not_simulated(error.what());
  }
  return counted;
}

std::string caches_text() {
  std::vector<std::string> names;
  for (const Geometry& level : machine_caches()) names.push_back(name(level));
  return join(names, ", ");
}

}  // namespace

run::Simulator simulator() { return {count, caches_text}; }

}  // namespace tessera::inline v1::locality
