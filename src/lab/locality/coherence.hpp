#pragma once
// Coherent private caches. A miss is a first touch, follows a replacement, or follows an
// invalidation; the last is true sharing if another thread wrote a requested byte since the
// invalidation, else false sharing (Torrellas et al. 1994). The states of a line are those of the
// protocols of MSI and MESI (Papamarcos and Patel 1984), or valid and invalid with write-through.

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "lab/locality/set_associative.hpp"

namespace tessera::inline v1::locality {

enum class Protocol : std::uint8_t { msi, mesi, write_through };
enum class LineState : std::uint8_t { invalid, shared, exclusive, modified };
inline constexpr std::size_t line_states = 4;

/// What changes the state of a line in a cache: its own thread, another thread, or a replacement.
enum class Cause : std::uint8_t { load, store, other_load, other_store, replacement };
inline constexpr std::size_t causes = 5;

/// Counts over all caches.
struct CoherenceCounts {
  index_t touches = 0;
  index_t cold = 0, replaced = 0, true_sharing = 0, false_sharing = 0;  ///< misses
  index_t upgrades = 0;         ///< stores to shared lines, announced to the others
  index_t invalidations = 0;    ///< copies invalidated
  index_t write_backs = 0;      ///< modified lines written back, for whatever reason
  index_t dirty_evictions = 0;  ///< of these by replacement
  index_t clean_evictions = 0;
  index_t stored_bytes = 0;  ///< written through
  /// [cause][from][to]: accesses that leave the state as it is included, with their own causes.
  std::array<std::array<std::array<index_t, line_states>, line_states>, causes> transitions = {};

  [[nodiscard]] index_t misses() const { return cold + replaced + true_sharing + false_sharing; }
};

class CoherentCaches {
 public:
  struct Settings {
    int caches = 1;
    index_t line_bytes = 64;
    /// Of each cache; its lines are line_bytes long. None: unlimited.
    std::optional<Geometry> geometry = {};
    Protocol protocol = Protocol::msi;
  };

  explicit CoherentCaches(const Settings& settings);
  /// Counts an access; one that crosses lines counts for its first line. Returns whether it missed.
  bool touch(int cache, const Access& access);
  /// Interleaves the threads' streams round-robin, one access each, until all have ended.
  void interleave(const std::vector<std::vector<Access>>& streams);
  [[nodiscard]] const CoherenceCounts& counts() const { return counts_; }
  /// Returns the state of the line of an address in a cache.
  [[nodiscard]] LineState state(int cache, std::uint64_t address) const;

 private:
  enum class Past : std::uint8_t { never, held, replaced, invalidated };
  struct Copy {
    LineState state = LineState::invalid;
    Past past = Past::never;
    std::uint64_t written = 0;  ///< by others since the invalidation: one bit per byte of a 64-byte
                                ///< line
  };
  using Copies = std::vector<Copy>;

  void set(Copy& copy, LineState to, Cause cause);
  void count_miss(const Copy& mine, std::uint64_t bytes);
  [[nodiscard]] bool notify_of_load(Copies& copies, std::size_t me);
  void notify_of_store(Copies& copies, std::size_t me, std::uint64_t line, std::uint64_t bytes);
  void make_room(std::size_t me, std::uint64_t line);

  LineSize line_;
  std::size_t count_;
  Protocol protocol_;
  std::vector<Cache> caches_;  ///< empty: unlimited
  std::unordered_map<std::uint64_t, Copies> lines_;
  CoherenceCounts counts_;
};

[[nodiscard]] const char* name(Protocol protocol);
[[nodiscard]] const char* name(LineState state);
[[nodiscard]] const char* name(Cause cause);

}  // namespace tessera::inline v1::locality
