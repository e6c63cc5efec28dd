#pragma once
// Private caches that invalidation keeps coherent, large enough that nothing is ever replaced:
// every miss is a first touch or the work of another thread. A miss after an invalidation is true
// sharing when a byte asked for was written by another thread in the meantime, else false sharing
// (Torrellas et al. 1994).

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
  /// An access that crosses lines counts for the line it begins in.
  void touch(int thread, const Access& access);
  /// The threads' streams in turns, an access each, until all have ended.
  void interleave(const std::vector<std::vector<Access>>& streams);
  [[nodiscard]] const SharingCounts& counts() const { return counts_; }

 private:
  enum class State : std::uint8_t { never, valid, invalid };
  struct Copy {
    State state = State::never;
    std::uint64_t written = 0;  ///< by others since the copy was lost: a bit a byte of a line of 64
  };
  LineSize line_;
  std::size_t threads_;
  std::unordered_map<std::uint64_t, std::vector<Copy>> lines_;
  SharingCounts counts_;
};

}  // namespace tessera::locality
