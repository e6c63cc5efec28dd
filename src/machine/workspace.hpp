#pragma once
// Memory of a caller, which buffers take in place of the system's.

#include <cstddef>
#include <mutex>
#include <utility>

#include "base/index.hpp"

namespace tessera::inline v1::machine {

/// Divides a block of the caller's memory among buffers. Thread-safe.
class Workspace {
 public:
  /// The block must outlive the workspace, and the workspace the buffers.
  Workspace(void* data, index_t bytes);
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  /// Returns `bytes` bytes, aligned to 64; nullptr if no free part is large enough.
  [[nodiscard]] void* take(index_t bytes) noexcept;
  /// Takes a part back; returns false if it is not from take().
  bool give(void* data) noexcept;
  /// Returns the bytes of the block that were ever taken: those before the end of the last part.
  [[nodiscard]] index_t used() const noexcept;

  /// Returns the workspace from which this thread allocates; nullptr: from the system.
  [[nodiscard]] static Workspace* of_this_thread() { return mine_; }
  /// Scope guard: makes this thread allocate from a workspace, as far as that has free memory.
  /// Teams that the thread forms do likewise (fork_join.hpp).
  class Scope {
   public:
    explicit Scope(Workspace* workspace) : before_(std::exchange(mine_, workspace)) {}
    ~Scope() { mine_ = before_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Workspace* before_;
  };

 private:
  struct Part;  ///< the header of a free or taken part, in front of its memory

  static inline thread_local Workspace* mine_ = nullptr;

  mutable std::mutex mutex_;
  std::byte *begin_, *end_, *used_;
  Part* free_ = nullptr;  ///< by address
};

}  // namespace tessera::inline v1::machine
