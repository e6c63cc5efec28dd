#pragma once
// The ideal cache: Belady's replacement (1966) throws out the line that is used again last. It
// needs the future, so the lines touched are kept and gone through backwards, then forwards.

#include <cstdint>
#include <span>
#include <vector>

#include "lab/locality/access.hpp"

namespace tessera::locality {

class LineTrace final : public Sink {
 public:
  /// Remembers up to `most` changes of line; then it gives up.
  LineTrace(index_t line_bytes, index_t most);
  void take(std::span<const Access> accesses) override;

  [[nodiscard]] bool complete() const { return complete_; }
  /// The lines touched in order, without repetitions of the same at once.
  [[nodiscard]] std::span<const std::uint32_t> lines() const { return lines_; }

 private:
  LineSize line_;
  std::size_t most_;
  bool complete_ = true;
  std::vector<std::uint32_t> lines_;
};

/// Misses of the ideal cache with room for so many lines, first touches among them; one value a
/// size.
[[nodiscard]] std::vector<index_t> optimal_misses(std::span<const std::uint32_t> lines,
                                                  std::span<const index_t> sizes);

}  // namespace tessera::locality
