#pragma once
// Ideal cache: replacement of the line with the most distant next use (Belady 1966). Requires the
// future, hence a recorded trace, traversed backwards, then forwards.

#include <cstdint>
#include <span>
#include <vector>

#include "lab/locality/access.hpp"

namespace tessera::inline v1::locality {

class LineTrace final : public Sink {
 public:
  /// Records up to `most` changes of line; a longer trace is incomplete.
  LineTrace(index_t line_bytes, index_t most);
  void take(std::span<const Access> accesses) override;

  [[nodiscard]] bool complete() const { return complete_; }
  /// Returns the touched lines in order, without immediate repetitions.
  [[nodiscard]] std::span<const std::uint32_t> lines() const { return lines_; }

 private:
  LineSize line_;
  std::size_t most_;
  bool complete_ = true;
  std::vector<std::uint32_t> lines_;
};

/// Returns the misses of an ideal cache, including first touches, for each size in lines.
[[nodiscard]] std::vector<index_t> optimal_misses(std::span<const std::uint32_t> lines,
                                                  std::span<const index_t> sizes);

}  // namespace tessera::inline v1::locality
