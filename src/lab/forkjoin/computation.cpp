#include "lab/forkjoin/computation.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lab/locality/tracer.hpp"
#include "machine/fork_observer.hpp"
#include "machine/topology.hpp"
#include "machine/work_span.hpp"

namespace tessera::inline v1::microscope {

using locality::Access;

PackedAccess::PackedAccess(const Access& access)
    : bits_(static_cast<std::uint32_t>(access.address() | (access.bytes() == 8 ? 2U : 0U) |
                                       (access.is_store() ? 1U : 0U))) {
  TESSERA_EXPECTS(access.address() < most_bytes && access.address() % 4 == 0);
}

Access PackedAccess::unpack() const {
  return {(bits_ & 1U) != 0 ? Access::Kind::store : Access::Kind::load, bits_ & ~3U,
          (bits_ & 2U) != 0 ? 8U : 4U};
}

index_t Computation::accesses_of(index_t strand) const {
  const auto s = static_cast<std::size_t>(strand);
  const index_t end =
      s + 1 < strands.size() ? strands[s + 1].first_access : static_cast<index_t>(accesses.size());
  return end - strands[s].first_access;
}

void Computation::forget_graph() {
  strands = {};
  forks = {};
  accesses = {};
  depths = {};
  critical = {};
}

namespace {

/// Builds the graph while a Recorder runs the probe.
class Recording final : public machine::ForkObserver, public locality::Sink {
 public:
  explicit Recording(Keep keep) : keep_(keep) {
    const index_t room = machine::available_memory() / 2 / index_t{sizeof(PackedAccess)};
    most_ = std::min(most_accesses, room);
    current = this;
  }
  ~Recording() override { current = nullptr; }

  /// Returns the operations so far: the clock of the Recorder.
  [[nodiscard]] static index_t operations() {
    if (current == nullptr || !current->is_open_) return 0;
    current->count();
    return current->ticks();
  }

  void start() {
    arithmetic_before_ = locality::recorder.arithmetic;
    is_open_ = true;
    begin_strand();
  }
  [[nodiscard]] Computation finish() {
    end_strand(Strand::End::finish, -1);
    is_open_ = false;
    all_.joined = static_cast<index_t>(all_.forks.size());
    return std::move(all_);
  }

  void fork() override {
    count();
    all_.forks.push_back({.strand = last_strand()});
    open_.push_back(static_cast<index_t>(all_.forks.size()) - 1);
    ++forks_and_joins_;
    end_strand(Strand::End::fork, open_.back());
    begin_strand();
  }
  void second_side() override {
    end_strand(Strand::End::join, open_.back());
    begin_strand();
    fork_of(open_.back()).second = last_strand();
  }
  void join() override {
    end_strand(Strand::End::join, open_.back());
    begin_strand();
    fork_of(open_.back()).after = last_strand();
    open_.pop_back();
    ++forks_and_joins_;
  }

  void take(std::span<const Access> accesses) override {
    for (const Access& access : accesses) {
      if (!access.is_touch()) continue;
      ++(access.is_store() ? all_.stores : all_.loads);
      if (keep_ == Keep::accesses) keep(access);
    }
  }

 private:
  [[nodiscard]] index_t last_strand() const {
    return static_cast<index_t>(all_.strands.size()) - 1;
  }
  [[nodiscard]] Fork& fork_of(index_t fork) { return all_.forks[static_cast<std::size_t>(fork)]; }

  void count() {
    locality::flush_recorder();
    all_.arithmetic = locality::recorder.arithmetic - arithmetic_before_;
  }
  void keep(const Access& access) {
    if (static_cast<index_t>(all_.accesses.size()) >= most_)  // no text is formatted otherwise
      throw Error(ExitCode::usage,
                  fmt::format("the run has more than {} accesses to replay; choose a smaller --n, "
                              "or --cache none",
                              most_));
    if (access.address() >= PackedAccess::most_bytes)
      throw Error(ExitCode::usage, "arrays to replay exceed 4 GiB; choose a smaller --n");
    all_.accesses.emplace_back(access);
  }
  void begin_strand() {
    all_.strands.push_back({.first_access = static_cast<index_t>(all_.accesses.size())});
    begun_ = ticks();
  }
  void end_strand(Strand::End end, index_t fork) {
    count();
    Strand& strand = all_.strands.back();
    strand.end = end;
    strand.fork = fork;
    strand.operations = ticks() - begun_;
  }
  [[nodiscard]] index_t ticks() const {
    return all_.loads + all_.stores + all_.arithmetic + forks_and_joins_;
  }

  static constinit Recording* current;
  Keep keep_;
  index_t most_ = 0;
  bool is_open_ = false;
  index_t arithmetic_before_ = 0, forks_and_joins_ = 0, begun_ = 0;
  std::vector<index_t> open_;  ///< forks whose join is to come
  Computation all_;
};

constinit Recording* Recording::current = nullptr;

/// Finds the longest path to every strand, and marks one to the last.
void find_paths(Computation& all) {
  const std::size_t count = all.strands.size();
  all.depths.assign(count, 0);
  all.critical.assign(count, false);
  std::vector<index_t> from(count, -1);  // the strand before on the longest path
  const auto reach = [&](index_t strand, std::size_t before) {
    const auto s = static_cast<std::size_t>(strand);
    if (from[s] >= 0 && all.depths[s] >= all.depths[before]) return;
    all.depths[s] = all.depths[before];
    from[s] = static_cast<index_t>(before);
  };
  for (std::size_t s = 0; s < count; ++s) {
    const Strand& strand = all.strands[s];
    all.depths[s] += strand.operations;  // until now that of the strand before
    if (strand.end == Strand::End::finish) continue;
    const Fork& fork = all.forks[static_cast<std::size_t>(strand.fork)];
    if (strand.end == Strand::End::fork) {
      reach(static_cast<index_t>(s) + 1, s);
      reach(fork.second, s);
    } else {
      reach(fork.after, s);
    }
  }
  for (auto s = static_cast<index_t>(count) - 1; s >= 0; s = from[static_cast<std::size_t>(s)])
    all.critical[static_cast<std::size_t>(s)] = true;
}

}  // namespace

Computation record(Make make, index_t n, index_t threshold, Keep keep) {
  locality::Tracer tracer(4096, locality::Tracer::Reuse::no);
  const std::unique_ptr<forkjoin::Problem> problem = make(n, threshold);
  Recording recording(keep);
  tracer.attach(recording);
  machine::WorkSpan totals;
  Computation all;
  tracer.run([&] {
    machine::Recorder listener(0, Recording::operations);
    recording.start();
    {
      const machine::Observed scope(recording);
      problem->run();
    }
    totals = listener.finish();
    all = recording.finish();
  });
  all.span = std::llround(1e9 * totals.span);
  find_paths(all);
  require(problem->mistakes() == 0, ExitCode::internal, "the traced probe computed a wrong result");
  return all;
}

}  // namespace tessera::inline v1::microscope
