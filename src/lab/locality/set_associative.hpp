#pragma once
// Hierarchy of set-associative caches: a level's misses access the next level. Write-allocate.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/locality/access.hpp"

namespace tessera::inline v1::locality {

enum class Replacement { lru, random };

struct Geometry {
  index_t bytes = index_t{32} << 10;
  index_t ways = 8;  ///< 0: fully associative
  index_t line_bytes = 64;
  Replacement replacement = Replacement::lru;

  [[nodiscard]] index_t lines() const { return bytes / line_bytes; }
  [[nodiscard]] index_t ways_of_set() const { return ways == 0 ? lines() : ways; }
  [[nodiscard]] index_t sets() const { return lines() / ways_of_set(); }
};

/// Parses "32KiB" (8-way), "1MiB:16:64:random", "4KiB:full": bytes, ways, line bytes, replacement.
/// Throws Error(usage).
[[nodiscard]] Geometry parse_geometry(std::string_view text, index_t line_bytes);
[[nodiscard]] std::string name(const Geometry& geometry);

/// Throws Error(memory) if `copies` simulated ones of each cache exceed the memory.
void require_memory(const std::vector<Geometry>& caches, index_t copies);

/// Misses of a level. An access that crosses lines counts as one touch, and as one miss if any of
/// its lines misses (as in cachegrind).
struct LevelCounts {
  index_t load_misses = 0, store_misses = 0;
  [[nodiscard]] index_t misses() const { return load_misses + store_misses; }
  LevelCounts& operator+=(const LevelCounts& other) {
    load_misses += other.load_misses;
    store_misses += other.store_misses;
    return *this;
  }
};

/// One cache.
class Cache {
 public:
  explicit Cache(const Geometry& geometry);
  /// Touches a line; returns whether it was resident. It is resident afterwards.
  bool touch(std::uint64_t line);
  /// Returns the line that the last touch replaced, if it missed and did.
  [[nodiscard]] std::optional<std::uint64_t> evicted() const {
    return evicted_ == none ? std::nullopt : std::optional(evicted_);
  }
  /// Removes a line that is resident.
  void drop(std::uint64_t line);
  [[nodiscard]] const Geometry& geometry() const { return geometry_; }

 private:
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  bool touch_random(std::uint64_t* set, std::uint64_t line);
  [[nodiscard]] std::uint64_t* set_of(std::uint64_t line);
  Geometry geometry_;
  std::uint64_t sets_;
  std::size_t ways_;
  std::vector<std::uint64_t> tags_;  ///< per set: newest first (lru) or unordered (random)
  std::uint64_t random_ = 1;
  std::uint64_t evicted_ = none;
};

/// Cache levels, nearest first.
class Hierarchy final : public Sink {
 public:
  explicit Hierarchy(const std::vector<Geometry>& levels);
  void take(std::span<const Access> accesses) override;
  void touch(std::uint64_t address, unsigned bytes, unsigned array, bool is_store);

  [[nodiscard]] std::size_t levels() const { return caches_.size(); }
  [[nodiscard]] const Geometry& geometry(std::size_t level) const {
    return caches_[level].geometry();
  }
  [[nodiscard]] LevelCounts counts(std::size_t level) const;
  [[nodiscard]] const LevelCounts& counts(std::size_t level, unsigned array) const {
    return counts_[level][array];
  }
  [[nodiscard]] index_t loads() const { return loads_; }
  [[nodiscard]] index_t stores() const { return stores_; }

 private:
  std::vector<Cache> caches_;
  LineSize line_;
  std::vector<std::array<LevelCounts, most_arrays>> counts_;
  index_t loads_ = 0, stores_ = 0;
};

}  // namespace tessera::inline v1::locality
