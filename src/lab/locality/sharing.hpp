#pragma once
// Coherent private caches with invalidation and unlimited capacity: every miss is a first touch or
// follows an invalidation. The latter is true sharing if another thread wrote a requested byte
// since the invalidation, else false sharing (Torrellas et al. 1994).

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "lab/locality/access.hpp"

namespace tessera::locality {

class SharingCaches {
 public:
  struct SharingCounts {
    index_t touches = 0, cold = 0, true_sharing = 0, false_sharing = 0;
  };

  SharingCaches(int threads, index_t line_bytes);
  /// Counts an access; one that crosses lines counts for its first line.
  void touch(int thread, const Access& access);
  /// Interleaves the threads' streams round-robin, one access each, until all have ended.
  void interleave(const std::vector<std::vector<Access>>& streams);
  [[nodiscard]] const SharingCounts& counts() const { return counts_; }

 private:
  enum class State : std::uint8_t { never, valid, invalid };
  struct Copy {
    State state = State::never;
    std::uint64_t written = 0;  ///< by others since the invalidation: one bit per byte of a 64-byte
                                ///< line
  };
  LineSize line_;
  std::size_t threads_;
  std::unordered_map<std::uint64_t, std::vector<Copy>> lines_;
  SharingCounts counts_;
};

}  // namespace tessera::locality
