#pragma once
// The five kinds of cache miss, each with its fix: small walks over memory that suffer from one
// kind and little else, and the same work without these misses. They are timed, and simulated with
// a listener for every touch.

#include <cstdint>
#include <memory>
#include <span>

#include "base/index.hpp"
#include "kernels/variant.hpp"

namespace tessera::inline v1::memory {

enum class MissKind { cold, capacity, conflict, true_sharing, false_sharing };
[[nodiscard]] std::string_view name(MissKind kind);

struct Walk {
  index_t bytes = 0;   ///< of the data; 0: the probe's default
  index_t stride = 0;  ///< bytes between successive touches; 0: the probe's default
  index_t rounds = 0;  ///< over the data, or updates per thread; 0: the probe's default
  int threads = 1;     ///< of probes of sharing; the others run on one
  index_t cache = 0;   ///< bytes that a block may fill; 0: half of this machine's second-level
                       ///< cache
};

/// The listener to every touch of a simulated walk, thread by thread in each thread's order.
class Touches {
 public:
  enum class What { load, store, prefetch };
  Touches() = default;
  Touches(const Touches&) = delete;
  Touches& operator=(const Touches&) = delete;
  virtual ~Touches() = default;
  virtual void touch(int thread, What what, std::uint64_t address, unsigned bytes) = 0;
};

/// A walk with its data.
class Probe {
 public:
  Probe() = default;
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;
  virtual ~Probe() = default;

  virtual void prepare() = 0;  ///< not timed
  virtual void run() = 0;      ///< starts a team
  virtual void trace(Touches& to) = 0;
  /// Returns the result of a run, on which a probe and its fix agree.
  [[nodiscard]] virtual std::uint64_t result() const = 0;
  [[nodiscard]] virtual index_t touches() const = 0;  ///< loads and updates per run
  [[nodiscard]] const Walk& walk() const { return walk_; }

 protected:
  explicit Probe(const Walk& walk) : walk_(walk) {}

 private:
  Walk walk_;
};

struct ProbeVariant : VariantInfo {
  MissKind kind;
  std::string_view cures;  ///< the row whose misses it avoids; "" for a probe that suffers
  Walk usual;              ///< the defaults, except for cache
  std::unique_ptr<Probe> (*make)(const Walk& walk);
};

[[nodiscard]] std::span<const ProbeVariant> probes();
/// Returns the walk with all defaults set.
[[nodiscard]] Walk completed(const ProbeVariant& probe, const Walk& walk);
/// Returns the bytes that the walk allocates. Throws Error(usage) if they overflow.
[[nodiscard]] index_t planned_bytes(const ProbeVariant& probe, const Walk& walk);
/// Bytes that cold walks through to evict the caches: more than any of them holds.
inline constexpr index_t flush_bytes = index_t{64} << 20;

// Each is in the file of its kind. The walks are complete.
[[nodiscard]] std::unique_ptr<Probe> cold(const Walk& walk);
[[nodiscard]] std::unique_ptr<Probe> cold_prefetched(const Walk& walk);
[[nodiscard]] std::unique_ptr<Probe> capacity(const Walk& walk);
[[nodiscard]] std::unique_ptr<Probe> capacity_blocked(const Walk& walk);
[[nodiscard]] std::unique_ptr<Probe> conflict(const Walk& walk);
[[nodiscard]] std::unique_ptr<Probe> conflict_padded(const Walk& walk);
[[nodiscard]] std::unique_ptr<Probe> true_sharing(const Walk& walk);
[[nodiscard]] std::unique_ptr<Probe> true_sharing_private(const Walk& walk);
[[nodiscard]] std::unique_ptr<Probe> false_sharing(const Walk& walk);
[[nodiscard]] std::unique_ptr<Probe> false_sharing_padded(const Walk& walk);

}  // namespace tessera::inline v1::memory
