#pragma once
// Space-time diagrams: address against time, with what is loaded, stored, fetched and resident.
// Small runs access by access, large ones as a density.

#include <vector>

#include "lab/locality/set_associative.hpp"

namespace tessera::locality {

/// One access of a small run: what it did to a fully associative LRU cache.
struct Mark {
  index_t time;     ///< number of the access
  index_t address;  ///< of the element
  unsigned array;
  bool store;
  bool fetched;  ///< its line was not in the cache
};

/// A stay of a line in the cache.
struct Stay {
  index_t line;
  unsigned array;
  index_t from, to;  ///< times: fetched at `from`, gone at `to` (the end where it stays)
};

/// Accesses of a cell of the density: so many steps of time by so many lines.
struct DensityCell {
  index_t time, line;  ///< of the cell's corner
  unsigned array;
  index_t touches, fetched;
};

class Diagram final : public Sink {
 public:
  /// A cache of `lines` lines; marks and stays are kept for up to `most_marks` accesses.
  Diagram(index_t lines, index_t line_bytes, index_t most_marks);
  void take(std::span<const Access> accesses) override;

  [[nodiscard]] index_t accesses() const { return now_; }
  /// Whether every access is kept.
  [[nodiscard]] bool exact() const { return now_ <= most_marks_; }
  [[nodiscard]] const std::vector<Mark>& marks() const { return marks_; }
  [[nodiscard]] std::vector<Stay> stays() const;
  /// The cells that were touched, with how many steps and lines each stands for.
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
  std::vector<Resident> cache_;  ///< the most recent first
  std::vector<Mark> marks_;
  std::vector<Stay> gone_;
  // Counts by time bin and line; a bin's steps double when the bins run out.
  struct Bin {
    index_t touches = 0, fetched = 0;
  };
  index_t time_step_ = 1;
  std::vector<std::vector<Bin>> bins_;  ///< [line][time]
  std::vector<unsigned> array_of_line_;
};

}  // namespace tessera::locality
