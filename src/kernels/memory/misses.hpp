#pragma once
// The five kinds of miss, each with its cure: small walks over memory that suffer from one kind and
// little else, and the same work done so that they do not. They are timed as they are, and
// simulated by giving every touch to a listener.

#include <cstdint>
#include <memory>
#include <span>

#include "base/index.hpp"
#include "kernels/variant.hpp"

namespace tessera::memory {

enum class Kind { cold, capacity, conflict, true_sharing, false_sharing };
[[nodiscard]] std::string_view name(Kind kind);

struct Walk {
  index_t bytes = 0;   ///< of the data; 0: the probe's own
  index_t stride = 0;  ///< bytes from what is touched to the next; 0: the probe's own
  index_t rounds = 0;  ///< over the data, or updates a thread; 0: the probe's own
  int threads = 1;     ///< of those that share; the others run on one
  index_t cache = 0;   ///< bytes that a block may fill; 0: half of this machine's second level
};

/// Who is told of every touch of a simulated walk, thread by thread in each thread's order.
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

  virtual void prepare() = 0;  ///< not part of what is timed
  virtual void run() = 0;      ///< makes its own team
  virtual void trace(Touches& to) = 0;
  /// What a probe and its cure agree on after one run.
  [[nodiscard]] virtual std::uint64_t result() const = 0;
  [[nodiscard]] virtual index_t touches() const = 0;  ///< loads and updates of a run
  [[nodiscard]] const Walk& walk() const { return walk_; }

 protected:
  explicit Probe(const Walk& walk) : walk_(walk) {}

 private:
  Walk walk_;
};

struct ProbeVariant : VariantInfo {
  Kind kind;
  std::string_view cures;  ///< the row whose misses it avoids; "" for one that suffers
  Walk usual;              ///< what 0 stands for, but for cache
  std::unique_ptr<Probe> (*make)(const Walk& walk);
};

[[nodiscard]] std::span<const ProbeVariant> probes();
/// The walk with everything set that it leaves to the probe.
[[nodiscard]] Walk completed(const ProbeVariant& probe, const Walk& walk);
/// Bytes that it will hold. Throws Error(usage) when they overflow.
[[nodiscard]] index_t planned_bytes(const ProbeVariant& probe, const Walk& walk);
/// Of the memory that cold walks through to empty the caches: more than any of them.
inline constexpr index_t flush_bytes = index_t{64} << 20;

// Each in the file of its kind. The walks are complete.
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

}  // namespace tessera::memory
