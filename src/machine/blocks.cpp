#include "machine/blocks.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <mutex>
#include <vector>

namespace tessera::inline v1::machine {
namespace {

constexpr index_t huge_page = index_t{2} << 20;
constexpr index_t most_kept = index_t{32} << 20;  // bytes of a block, as glibc keeps them

struct Block {
  char* data;
  index_t capacity, bytes;  // mapped, and used or last used: the rest is not resident
  bool used;
};

/// Returns nullptr if the system refuses.
char* map(index_t bytes) {
  if (bytes > std::numeric_limits<index_t>::max() - huge_page) return nullptr;
  const auto all = static_cast<std::size_t>(bytes + huge_page);
  void* const got = mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (got == MAP_FAILED) return nullptr;
  const auto before = static_cast<std::size_t>(-reinterpret_cast<std::uintptr_t>(got) % huge_page);
  char* const data = static_cast<char*>(got) + before;
  if (before > 0) munmap(got, before);
  munmap(data + bytes, all - before - static_cast<std::size_t>(bytes));
  return data;
}

class Blocks {
 public:
  void* take(index_t bytes) {
    const std::lock_guard lock(mutex_);
    in_use_ += bytes;
    most_ = std::max(most_, in_use_);
    const std::size_t fitting = best_fit(bytes);
    if (fitting < blocks_.size()) {
      Block block = blocks_[fitting];
      blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(fitting));
      kept_ -= block.bytes;
      if (block.bytes > bytes)
        madvise(block.data + bytes, static_cast<std::size_t>(block.bytes - bytes), MADV_DONTNEED);
      block.bytes = bytes;
      block.used = true;
      blocks_.push_back(block);
      release_beyond(most_ - in_use_);
      return block.data;
    }
    release_beyond(most_ - in_use_);
    char* data = map(bytes);
    if (data == nullptr) {
      release_beyond(0);
      data = map(bytes);
    }
    if (data == nullptr)
      in_use_ -= bytes;
    else
      blocks_.push_back({data, bytes, bytes, true});
    return data;
  }

  bool give(void* data) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(blocks_.begin(), blocks_.end(),
                                    [&](const Block& block) { return block.data == data; });
    if (found == blocks_.end()) return false;
    found->used = false;
    in_use_ -= found->bytes;
    kept_ += found->bytes;
    std::rotate(found, found + 1, blocks_.end());
    if (!keeps_ || blocks_.back().capacity >= most_kept) release(blocks_.size() - 1);
    return true;
  }

  void release_kept() noexcept {
    const std::lock_guard lock(mutex_);
    release_beyond(0);
    most_ = in_use_;
  }
  void keep_none() noexcept {
    release_kept();
    const std::lock_guard lock(mutex_);
    keeps_ = false;
  }

 private:
  /// Returns the smallest kept block of sufficient capacity, or blocks_.size().
  [[nodiscard]] std::size_t best_fit(index_t bytes) const {
    std::size_t best = blocks_.size();
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      const Block& block = blocks_[b];
      const bool fits = !block.used && block.capacity >= bytes;
      if (fits && (best == blocks_.size() || block.capacity < blocks_[best].capacity)) best = b;
    }
    return best;
  }
  void release(std::size_t at) noexcept {
    kept_ -= blocks_[at].bytes;
    munmap(blocks_[at].data, static_cast<std::size_t>(blocks_[at].capacity));
    blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  /// Releases kept blocks, the oldest first, until they have at most these bytes.
  void release_beyond(index_t bytes) noexcept {
    for (std::size_t b = 0; b < blocks_.size() && kept_ > bytes;) {
      if (blocks_[b].used)
        ++b;
      else
        release(b);
    }
  }

  std::mutex mutex_;
  std::vector<Block> blocks_;                 // in the order of taking or giving
  index_t in_use_ = 0, kept_ = 0, most_ = 0;  // bytes; most_: in use at once
  bool keeps_ = true;
};

/// Never destroyed: static buffers may be freed later.
Blocks& blocks() {
  static auto* const all = new Blocks;
  return *all;
}

}  // namespace

void* take_block(index_t bytes) {
  return blocks().take(round_up(bytes, static_cast<index_t>(sysconf(_SC_PAGESIZE))));
}

bool give_block(void* data) noexcept {
  return reinterpret_cast<std::uintptr_t>(data) % huge_page == 0 && blocks().give(data);
}

void release_kept_blocks() noexcept { blocks().release_kept(); }

void keep_no_blocks() noexcept { blocks().keep_none(); }

}  // namespace tessera::inline v1::machine
