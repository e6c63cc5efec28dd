#pragma once
// Space-time diagrams: address against time, with loads, stores, fetches and residency. Small runs
// access by access, large ones as a density.

#include <vector>

#include "lab/locality/set_associative.hpp"

namespace tessera::inline v1::locality {

/// Access of a small run and its effect on a fully associative LRU cache.
struct Mark {
  index_t time;     ///< number of the access
  index_t address;  ///< of the element
  unsigned array;
  bool store;
  bool fetched;  ///< the access missed
};

/// Residency of a line in the cache.
struct Stay {
  index_t line;
  unsigned array;
  index_t from, to;  ///< fetched at `from`, evicted at `to` (the end if it stays)
};

/// Accesses of a cell of the density: Density::time_step times by line_step lines.
struct DensityCell {
  index_t time, line;  ///< the cell's corner
  unsigned array;
  index_t touches, fetched;
};

class Diagram final : public Sink {
 public:
  /// Simulates a cache of `lines` lines; records marks and stays for up to `most_marks` accesses.
  Diagram(index_t lines, index_t line_bytes, index_t most_marks);
  void take(std::span<const Access> accesses) override;
  /// Draws the array without the cache: it is in another memory.
  void leave_out(unsigned array) { left_out_.push_back(array); }

  [[nodiscard]] index_t accesses() const { return now_; }
  /// Returns whether every access is recorded.
  [[nodiscard]] bool exact() const { return now_ <= most_marks_; }
  [[nodiscard]] const std::vector<Mark>& marks() const { return marks_; }
  [[nodiscard]] std::vector<Stay> stays() const;
  /// Touched cells and their size in accesses and lines.
  struct Density {
    index_t time_step = 1, line_step = 1;
    std::vector<DensityCell> cells;
  };
  [[nodiscard]] Density density() const;

 private:
  struct Resident {
    std::uint64_t line;
    index_t from;
    unsigned array;
  };
  bool touch(std::uint64_t line, unsigned array);
  void count(std::uint64_t line, unsigned array, bool fetched);
  void coarsen_time();

  LineSize line_;
  std::size_t room_;
  index_t most_marks_, now_ = 0;
  std::vector<unsigned> left_out_;
  std::vector<Resident> cache_;  ///< most recent first
  std::vector<Mark> marks_;
  std::vector<Stay> evicted_;
  // Counts by time bin and line; when the bins run out, their time step doubles.
  struct Bin {
    index_t touches = 0, fetched = 0;
  };
  index_t time_step_ = 1;
  std::vector<std::vector<Bin>> bins_;  ///< [line][time]
  std::vector<unsigned> array_of_line_;
};

}  // namespace tessera::inline v1::locality
