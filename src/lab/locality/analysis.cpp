#include "lab/locality/analysis.hpp"

#include <algorithm>
#include <memory>

#include "base/timer.hpp"
#include "lab/locality/optimal.hpp"
#include "lab/locality/simulated_counters.hpp"

namespace tessera::inline v1::locality {
namespace {

// Larger expected access counts are sampled; exact simulation takes under a minute on one core.
constexpr double exact_accesses = 1e9;

Geometry with_random(Geometry g) {
  g.replacement = Replacement::random;
  return g;
}

/// Simulates the accesses by stage of the kernel instead of by array.
class ByStage final : public Sink {
 public:
  ByStage(const Tracer& tracer, index_t line_bytes, double rate)
      : tracer_(&tracer), distances_({.line_bytes = line_bytes, .rate = rate}) {}
  void take(std::span<const Access> accesses) override {
    staged_.assign(accesses.begin(), accesses.end());
    for (Access& access : staged_)
      if (access.is_touch()) access = access.in_array(tracer_->stage());
    distances_.take(staged_);
  }
  [[nodiscard]] MissCurve curve(unsigned stage) const { return distances_.curve(stage); }

 private:
  const Tracer* tracer_;
  StackDistance distances_;
  std::vector<Access> staged_;
};

/// Simulators of one run.
struct Laboratory {
  StackDistance lru;
  Hierarchy levels;
  std::vector<std::unique_ptr<Hierarchy>> random;
  LineTrace trace;

  Laboratory(const AnalysisRequest& r, double rate)
      : lru({.line_bytes = r.line_bytes, .rate = rate, .caches = r.caches}),
        levels(r.caches),
        trace(r.line_bytes, r.ideal_limit) {
    for (const Geometry& g : r.caches)
      random.push_back(std::make_unique<Hierarchy>(std::vector{with_random(g)}));
  }

  void attach_to(Tracer& tracer, const AnalysisRequest& r) {
    tracer.attach(lru);
    tracer.attach(levels);
    if (r.ideal_limit > 0) tracer.attach(trace);
    for (const auto& one : random) tracer.attach(*one);
  }
};

MissKinds kinds_of(const MissCurve& curve, index_t lines, index_t misses) {
  const double lru = curve.misses(lines);
  return {curve.compulsory(), lru - curve.compulsory(), static_cast<double>(misses) - lru};
}

CacheReport report_of(const Laboratory& lab, std::size_t c, const Analysis& a) {
  CacheReport report;
  report.geometry = lab.levels.geometry(c);
  const index_t lines = report.geometry.lines();
  index_t all = 0;
  for (unsigned array = 0; array < a.arrays.size(); ++array) {
    const index_t misses = lab.lru.misses(c, array);
    report.arrays.push_back(kinds_of(a.array_curves[array], lines, misses));
    all += misses;
  }
  report.all = kinds_of(a.curve, lines, all);
  const LevelCounts behind = lab.levels.counts(c);
  report.behind = behind.misses();
  report.load_misses = behind.load_misses;
  report.store_misses = behind.store_misses;
  report.random = lab.random[c]->counts(0).misses();
  report.by_level = lab.lru.by_level(c);
  return report;
}

/// Adds the ideal cache at the caches' sizes and at powers of four lines.
void add_ideal(const LineTrace& trace, Analysis& a) {
  if (!trace.complete() || trace.lines().empty()) return;
  std::vector<index_t> sizes;
  for (index_t lines = 16; sizes.size() < 8; lines *= 4) {
    sizes.push_back(lines);
    if (a.curve.misses(lines) <= a.curve.compulsory()) break;
  }
  for (const CacheReport& cache : a.caches) sizes.push_back(cache.geometry.lines());
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  const std::vector<index_t> misses = optimal_misses(trace.lines(), sizes);
  for (std::size_t i = 0; i < sizes.size(); ++i) a.ideal.push_back({sizes[i], misses[i]});
  for (CacheReport& cache : a.caches) {
    const auto at = std::find(sizes.begin(), sizes.end(), cache.geometry.lines());
    cache.ideal = misses[static_cast<std::size_t>(at - sizes.begin())];
  }
}

}  // namespace

Analysis analyse(const AnalysisRequest& request) {
  const Timer timer;
  Analysis a;
  const double expected = expected_accesses(request.problem);
  a.rate = request.sample > 0 ? request.sample : std::min(1.0, exact_accesses / expected);
  const TracedKernel& kernel = traced_kernel(request.problem.workload, request.problem.kernel);
  a.leaf = kernel.leaf;
  constexpr int copies = 3;  // per cache: alone, behind the others, alone with random replacement
  require_memory(request.caches, copies);
  Laboratory lab(request, a.rate);
  Tracer tracer(
      request.alignment);  // after the caches are allocated: it reads the remaining memory
  lab.attach_to(tracer, request);
  for (Sink* other : request.others) tracer.attach(*other);
  ByStage by_stage(tracer, request.line_bytes, a.rate);
  if (kernel.has_stages) tracer.attach(by_stage);
  a.problem = kernel.run(tracer, request.problem);
  a.arrays = tracer.arrays();
  for (std::size_t i = 0; i < a.arrays.size(); ++i) {
    a.begins.push_back(static_cast<index_t>(tracer.begin_of(i)));
    a.bytes.push_back(static_cast<index_t>(tracer.bytes_of(i)));
  }
  a.loads = lab.levels.loads();
  a.stores = lab.levels.stores();
  a.curve = lab.lru.curve();
  for (unsigned array = 0; array < a.arrays.size(); ++array)
    a.array_curves.push_back(lab.lru.curve(array));
  a.stages = tracer.stages();
  for (unsigned stage = 0; stage < a.stages.size(); ++stage)
    a.stage_curves.push_back(by_stage.curve(stage));
  for (std::size_t c = 0; c < request.caches.size(); ++c) a.caches.push_back(report_of(lab, c, a));
  add_ideal(lab.trace, a);
  a.theorem = theorem_of(a.problem, request.line_bytes);
  if (a.theorem) a.fitted = fit(*a.theorem, a.curve);
  a.seconds = timer.seconds();
  return a;
}

}  // namespace tessera::inline v1::locality
