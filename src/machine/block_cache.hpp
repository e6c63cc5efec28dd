#pragma once
// A cache of freed memory blocks, for memory that is slow to allocate.

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

#include "base/index.hpp"

namespace tessera::inline v1::machine {

/// Keeps freed blocks by place (a device) and size. `release(data)` returns one to the system; it
/// must not throw. Thread-safe.
template <class Release>
class BlockCache {
 public:
  /// Keeps at most most_bytes bytes, in at most `most_blocks` blocks.
  BlockCache(index_t most_bytes, Release release)
      : most_bytes_(most_bytes), release_(std::move(release)) {}
  static constexpr std::size_t most_blocks = 256;

  /// Returns a kept block of the place with exactly `bytes` bytes, or nullptr. A larger block would
  /// hide reads beyond the end from compute-sanitizer.
  [[nodiscard]] void* take(int place, index_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(kept_.rbegin(), kept_.rend(), [&](const Kept& one) {
      return one.place == place && one.bytes == bytes;
    });
    if (found == kept_.rend()) return nullptr;
    void* const data = found->data;
    kept_bytes_ -= bytes;
    kept_.erase(std::next(found).base());
    return data;
  }

  /// Keeps the block and releases the oldest ones to stay within the limits; a block above
  /// most_bytes is released at once.
  void give(int place, void* data, index_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    if (bytes > most_bytes_) return release_(data);
    while (kept_bytes_ + bytes > most_bytes_ || kept_.size() == most_blocks) drop_oldest();
    try {
      kept_.push_back({place, data, bytes});
      kept_bytes_ += bytes;
    } catch (...) {
      release_(data);
    }
  }

  /// Releases all kept blocks; returns whether there were any.
  bool clear() noexcept {
    const std::lock_guard lock(mutex_);
    const bool any = !kept_.empty();
    while (!kept_.empty()) drop_oldest();
    return any;
  }

  [[nodiscard]] index_t kept_bytes() const {
    const std::lock_guard lock(mutex_);
    return kept_bytes_;
  }

 private:
  struct Kept {
    int place;
    void* data;
    index_t bytes;
  };
  void drop_oldest() noexcept {
    release_(kept_.front().data);
    kept_bytes_ -= kept_.front().bytes;
    kept_.erase(kept_.begin());
  }

  mutable std::mutex mutex_;
  std::vector<Kept> kept_;  // oldest first
  index_t kept_bytes_ = 0;
  index_t most_bytes_;
  Release release_;
};

}  // namespace tessera::inline v1::machine
