#include "lab/forkjoin/schedule.hpp"

#include <algorithm>
#include <deque>

#include "base/random.hpp"

namespace tessera::inline v1::microscope {
namespace {

class Simulation {
 public:
  Simulation(const Computation& all, int workers, std::uint64_t seed)
      : all_(all), seed_(seed), workers_(static_cast<std::size_t>(workers)) {
    found_.workers = workers;
    found_.worker.assign(all.strands.size(), -1);
    found_.begin.assign(all.strands.size(), 0);
    found_.busy.assign(workers_.size(), 0);
    arrived_.assign(all.forks.size(), 0);
  }

  [[nodiscard]] Schedule run() {
    begin(0, 0);
    while (!done_) {
      advance_clock();
      for (std::size_t w = 0; w < workers_.size(); ++w) {
        if (workers_[w].strand >= 0 && workers_[w].end <= now_) end_strand(w);
      }
      for (std::size_t w = 0; w < workers_.size() && !done_; ++w) {
        if (workers_[w].strand < 0 && workers_[w].end < now_) try_to_steal(w);
      }
    }
    found_.time = now_;
    return std::move(found_);
  }

 private:
  struct Worker {
    index_t strand = -1;          ///< -1: looks for work
    index_t end = 0;              ///< of the strand, or since when it looks for work
    index_t last = -1;            ///< the strand before
    std::deque<index_t> put_off;  ///< second sides, the newest at the back
  };

  /// Advances to the end of the next strand, by one unit while a worker looks for work.
  void advance_clock() {
    index_t next = -1;
    for (const Worker& w : workers_) {
      if (w.strand < 0) {
        ++now_;
        return;
      }
      next = next < 0 ? w.end : std::min(next, w.end);
    }
    now_ = next;
  }

  void begin(std::size_t me, index_t strand) {
    Worker& w = workers_[me];
    const index_t operations = all_.strands[static_cast<std::size_t>(strand)].operations;
    found_.worker[static_cast<std::size_t>(strand)] = static_cast<int>(me);
    found_.begin[static_cast<std::size_t>(strand)] = now_;
    found_.busy[me] += operations;
    found_.deviations += strand != w.last + 1 ? 1 : 0;
    w.strand = w.last = strand;
    w.end = now_ + operations;
    if (operations == 0) end_strand(me);
  }

  void end_strand(std::size_t me) {
    Worker& w = workers_[me];
    const Strand& strand = all_.strands[static_cast<std::size_t>(w.strand)];
    if (strand.end == Strand::End::finish) {
      done_ = true;
      return;
    }
    const Fork& fork = all_.forks[static_cast<std::size_t>(strand.fork)];
    if (strand.end == Strand::End::fork) {
      w.put_off.push_back(fork.second);
      return begin(me, w.strand + 1);
    }
    if (++arrived_[static_cast<std::size_t>(strand.fork)] == 2) return begin(me, fork.after);
    w.strand = -1;
    if (w.put_off.empty()) return;
    const index_t newest = w.put_off.back();
    w.put_off.pop_back();
    begin(me, newest);
  }

  void try_to_steal(std::size_t me) {
    const auto others = static_cast<std::uint64_t>(workers_.size() - 1);
    const std::uint64_t random = random_bits(seed_, 0, found_.attempts++);
    const std::size_t victim = (me + 1 + random % others) % workers_.size();
    workers_[me].end = now_;
    std::deque<index_t>& deque = workers_[victim].put_off;
    if (deque.empty()) return;
    const index_t oldest = deque.front();
    deque.pop_front();
    found_.steals.push_back({now_, static_cast<int>(me), static_cast<int>(victim), oldest});
    begin(me, oldest);
  }

  const Computation& all_;
  std::uint64_t seed_;
  std::vector<Worker> workers_;
  std::vector<int> arrived_;  ///< by fork: sides that have ended
  index_t now_ = 0;
  bool done_ = false;
  Schedule found_;
};

}  // namespace

double Schedule::excess(const Computation& all) const {
  const double mean = static_cast<double>(all.work()) / workers;
  return (static_cast<double>(time) - mean) / static_cast<double>(std::max<index_t>(1, all.span));
}

double Schedule::least(const Computation& all) const {
  return std::max(static_cast<double>(all.work()) / workers, static_cast<double>(all.span));
}

Schedule work_stealing(const Computation& all, int workers, std::uint64_t seed) {
  return Simulation(all, workers, seed).run();
}

}  // namespace tessera::inline v1::microscope
