#include <algorithm>

#include "lab/locality/coherence.hpp"
#include "lab/locality/set_associative.hpp"
#include "lab/locality/simulated_counters.hpp"
#include "lab/locality/stack_distance.hpp"
#include "lab/memory/memory.hpp"

namespace tessera::inline v1::memory_probes {
namespace {

using locality::Access;
using memory::Touches;

constexpr index_t most_rounds_shared = 100'000;  // per thread; all rounds are alike
constexpr std::size_t piece = 4096;
constexpr unsigned demanded = 0, asked_ahead = 1;  // arrays of the simulators' counts

Access access_of(Touches::What what, std::uint64_t address, unsigned bytes) {
  const auto kind = what == Touches::What::store ? Access::Kind::store : Access::Kind::load;
  return {kind, address, bytes, what == Touches::What::prefetch ? asked_ahead : demanded};
}

/// Adapter from one thread's touches to the simulators of its caches.
class ToCaches final : public Touches {
 public:
  explicit ToCaches(std::vector<locality::Sink*> sinks) : sinks_(std::move(sinks)) {}
  void touch(int, What what, std::uint64_t address, unsigned bytes) override {
    buffer_.push_back(access_of(what, address, bytes));
    if (buffer_.size() == piece) flush();
  }
  void flush() {
    for (locality::Sink* sink : sinks_) sink->take(buffer_);
    buffer_.clear();
  }

 private:
  std::vector<locality::Sink*> sinks_;
  std::vector<Access> buffer_;
};

class ToStreams final : public Touches {
 public:
  explicit ToStreams(int threads) : streams_(static_cast<std::size_t>(threads)) {}
  void touch(int thread, What what, std::uint64_t address, unsigned bytes) override {
    streams_[static_cast<std::size_t>(thread)].push_back(access_of(what, address, bytes));
  }
  [[nodiscard]] const std::vector<std::vector<Access>>& streams() const { return streams_; }

 private:
  std::vector<std::vector<Access>> streams_;
};

Simulated simulate_sharing(const memory::ProbeVariant& row, memory::Walk walk) {
  walk.rounds = std::min(walk.rounds, most_rounds_shared);
  const auto probe = row.make(walk);
  ToStreams recorder(walk.threads);
  probe->trace(recorder);
  locality::CoherentCaches caches(
      {.caches = walk.threads, .line_bytes = locality::machine_caches().front().line_bytes});
  caches.interleave(recorder.streams());
  const auto& counts = caches.counts();
  const double touches = static_cast<double>(std::max<index_t>(1, probe->touches()));
  const double misses =
      static_cast<double>(counts.cold + counts.true_sharing + counts.false_sharing);
  return {.l1_misses = misses / touches,
          .l2_misses = misses / touches,
          .llc_misses = misses / touches,
          .true_sharing = static_cast<double>(counts.true_sharing) / touches,
          .false_sharing = static_cast<double>(counts.false_sharing) / touches};
}

}  // namespace

Simulated simulate(const memory::ProbeVariant& row, memory::Walk walk) {
  const bool shares =
      row.kind == memory::MissKind::true_sharing || row.kind == memory::MissKind::false_sharing;
  if (shares) return simulate_sharing(row, walk);
  const auto levels = locality::machine_caches();
  locality::Hierarchy caches(levels);
  locality::StackDistance distances({.line_bytes = levels.front().line_bytes});
  const auto probe = row.make(walk);
  ToCaches recorder({&caches, &distances});
  probe->trace(recorder);
  recorder.flush();
  const double touches = static_cast<double>(std::max<index_t>(1, probe->touches()));
  const auto per_touch = [&](double misses) { return misses / touches; };
  const double first = static_cast<double>(caches.counts(0, demanded).misses());
  const double all = static_cast<double>(caches.counts(0).misses());
  return {.l1_misses = per_touch(first),
          .l2_misses = per_touch(static_cast<double>(caches.counts(1, demanded).misses())),
          .llc_misses = per_touch(static_cast<double>(caches.counts(2, demanded).misses())),
          .l1_conflicts = per_touch(all - distances.curve().misses(levels.front().lines()))};
}

}  // namespace tessera::inline v1::memory_probes
