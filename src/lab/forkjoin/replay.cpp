#include "lab/forkjoin/replay.hpp"

#include <algorithm>

namespace tessera::inline v1::microscope {
namespace {

/// The accesses of a worker, strand after strand.
class Stream {
 public:
  Stream(const Computation& all, const Schedule& schedule) : all_(all), schedule_(schedule) {}

  void add(index_t strand) { strands_.push_back(strand); }

  /// Calls touch(access) for those that are due before time `now` + 1.
  template <class Touch>
  void advance(index_t now, const Touch& touch) {
    while (next_ < strands_.size()) {
      const auto s = static_cast<std::size_t>(strands_[next_]);
      const Strand& strand = all_.strands[s];
      const index_t elapsed = now + 1 - schedule_.begin[s];
      if (elapsed <= 0) return;
      const index_t count = all_.accesses_of(strands_[next_]);
      const index_t due =
          elapsed >= strand.operations ? count : count * elapsed / strand.operations;
      for (; done_ < due; ++done_)
        touch(all_.accesses[static_cast<std::size_t>(strand.first_access + done_)].unpack());
      if (elapsed < strand.operations) return;
      ++next_;
      done_ = 0;
    }
  }

 private:
  const Computation& all_;
  const Schedule& schedule_;
  std::vector<index_t> strands_;  ///< in order of time
  std::size_t next_ = 0;
  index_t done_ = 0;  ///< accesses of strands_[next_]
};

std::vector<Stream> streams_of(const Computation& all, const Schedule& schedule) {
  std::vector<index_t> order(all.strands.size());
  for (std::size_t s = 0; s < order.size(); ++s) order[s] = static_cast<index_t>(s);
  std::stable_sort(order.begin(), order.end(), [&](index_t a, index_t b) {
    return schedule.begin[static_cast<std::size_t>(a)] <
           schedule.begin[static_cast<std::size_t>(b)];
  });
  std::vector<Stream> streams(static_cast<std::size_t>(schedule.workers), Stream(all, schedule));
  for (const index_t strand : order)
    streams[static_cast<std::size_t>(schedule.worker[static_cast<std::size_t>(strand)])].add(
        strand);
  return streams;
}

}  // namespace

Traffic replay(const Computation& all, const Schedule& schedule, const Caches& caches) {
  std::vector<Stream> streams = streams_of(all, schedule);
  locality::CoherentCaches coherent({.caches = schedule.workers,
                                     .line_bytes = caches.own.line_bytes,
                                     .geometry = caches.own,
                                     .protocol = caches.protocol});
  std::vector<locality::Cache> alone(streams.size(), locality::Cache(caches.own));
  locality::Cache shared(caches.shared);
  const locality::LineSize line(caches.own.line_bytes);
  Traffic traffic;
  for (index_t now = 0; now < schedule.time; ++now) {
    for (std::size_t w = 0; w < streams.size(); ++w) {
      streams[w].advance(now, [&](const locality::Access& access) {
        const std::uint64_t number = line.of(access.address());
        traffic.alone += alone[w].touch(number) ? 0 : 1;
        if (coherent.touch(static_cast<int>(w), access))
          traffic.shared += shared.touch(number) ? 0 : 1;
      });
    }
  }
  traffic.coherent = coherent.counts();
  return traffic;
}

index_t most_misses(index_t serial_misses, const Schedule& schedule,
                    const locality::Geometry& own) {
  return serial_misses + schedule.deviations * own.lines();
}

}  // namespace tessera::inline v1::microscope
