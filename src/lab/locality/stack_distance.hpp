#pragma once
// Exact LRU stack distances in one pass, hence the misses of every cache size (Mattson et al.
// 1970). The distance d of an access, the number of different lines touched since its line's last
// touch, inclusive, makes it miss in every fully associative LRU cache of fewer than d lines. A bit
// marks the time of every line's last touch (Bennett and Kruskal 1975); a tree of bit counts with
// 16 children per node yields the distance in a few additions. Times are renumbered when they run
// out, so that memory grows with the lines, not the accesses.

#include <array>
#include <map>
#include <vector>

#include "lab/locality/set_associative.hpp"

namespace tessera::inline v1::locality {

/// Growing bit sequence with counts of the bits right of a position.
class CountedBits {
 public:
  explicit CountedBits(std::size_t size);
  [[nodiscard]] std::size_t size() const { return 64 * words_.size(); }
  void set(std::size_t i) { flip(i, 1); }
  void clear(std::size_t i) { flip(i, ~std::uint32_t{0}); }
  [[nodiscard]] bool test(std::size_t i) const { return (words_[i / 64] >> (i % 64) & 1) != 0; }
  [[nodiscard]] index_t right_of(std::size_t i) const;

 private:
  void flip(std::size_t i, std::uint32_t by);
  std::vector<std::uint64_t> words_;
  std::vector<std::vector<std::uint32_t>> counts_;  ///< [0] of words, [k + 1] of 16 of [k]
};

/// Misses of a cache by cause.
struct MissKinds {
  double compulsory = 0;  ///< first touches
  double capacity = 0;    ///< further ones in a fully associative LRU cache of the same size
  double conflict = 0;    ///< further ones in the cache itself; may be negative
  [[nodiscard]] double misses() const { return compulsory + capacity + conflict; }
};

/// Misses of fully associative LRU caches as a function of the size.
class MissCurve {
 public:
  /// distances[d]: accesses at distance d >= 1; first: accesses to lines never touched before.
  MissCurve() = default;
  MissCurve(std::vector<double> distances, double first);

  /// Returns the misses of a cache of `lines` lines, including first touches.
  [[nodiscard]] double misses(index_t lines) const;
  [[nodiscard]] double compulsory() const { return first_; }
  /// Returns the sizes at which the misses change: fewer at lines[i] than at any smaller size. From
  /// 1 up.
  [[nodiscard]] std::vector<index_t> steps() const;
  MissCurve& operator+=(const MissCurve& other);

 private:
  std::vector<double> beyond_;  ///< [m]: accesses at distance > m
  double first_ = 0;
};

class StackDistance final : public Sink {
 public:
  struct Options {
    index_t line_bytes = 64;
    /// 1: exact. Less: fraction of lines followed, chosen by a hash and scaled up (SHARDS,
    /// Waldspurger et al. 2015).
    double rate = 1;
    /// Caches simulated on the same lines, each alone: misses by array and by level of the
    /// recursion.
    std::vector<Geometry> caches = {};
  };
  StackDistance() : StackDistance(Options{}) {}
  explicit StackDistance(const Options& options);

  void take(std::span<const Access> accesses) override;
  /// Touches a line once.
  void touch(std::uint64_t line, unsigned array);

  [[nodiscard]] index_t accesses() const { return accesses_; }
  [[nodiscard]] index_t lines() const { return static_cast<index_t>(live_); }  ///< followed ones
  [[nodiscard]] MissCurve curve() const;
  [[nodiscard]] MissCurve curve(unsigned array) const;
  /// Returns the misses of cache i by level: [0] if the line was last touched outside every
  /// subproblem or never, [l] if last touched within the same subproblem of level l but no deeper
  /// one.
  [[nodiscard]] const std::vector<MissKinds>& by_level(std::size_t i) const { return by_level_[i]; }
  /// Returns the misses of cache i over all followed lines.
  [[nodiscard]] index_t misses(std::size_t i, unsigned array) const { return misses_[i][array]; }

 private:
  static constexpr std::uint32_t never = ~std::uint32_t{0};
  void count(index_t distance, unsigned array);
  [[nodiscard]] std::uint64_t ask_caches(std::uint64_t line, unsigned array);
  void count_level(index_t distance, std::uint32_t before, std::uint64_t missed);
  void renumber();
  [[nodiscard]] bool followed(std::uint64_t line) const;

  LineSize line_;
  std::uint64_t threshold_;  ///< of the hash
  double weight_;            ///< of a followed line
  std::vector<Cache> caches_;
  std::vector<std::uint32_t> last_;   ///< by line: the time of its last touch
  std::vector<std::uint64_t> owner_;  ///< by time: the touched line
  CountedBits bits_;
  std::uint32_t now_ = 0;
  std::size_t live_ = 0;
  std::uint64_t newest_ = ~std::uint64_t{0};  ///< the followed line touched last
  std::uint64_t last_line_ = ~std::uint64_t{0};
  index_t accesses_ = 0;
  std::array<std::vector<index_t>, most_arrays> histogram_;  ///< [d]; [0] are first touches
  std::vector<std::uint32_t> started_;                       ///< by open subproblem: its first time
  std::vector<std::vector<MissKinds>> by_level_;
  std::vector<std::array<index_t, most_arrays>> misses_;
};

}  // namespace tessera::inline v1::locality
