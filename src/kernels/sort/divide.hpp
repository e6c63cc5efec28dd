#pragma once
// Partition of keys by sampled splitters: the first step of the external sort, whose buckets are
// later loaded one at a time and sorted.

#include <memory>
#include <span>

#include "kernels/sort/key.hpp"

namespace tessera::inline v1::sort {

template <class T>
class Divider {
 public:
  static constexpr index_t most_buckets = 2047;  ///< the maximum that can be requested
  static constexpr index_t most_samples = 8192;  ///< the first keys of a sample, which are used

  /// Constructs about `wanted` buckets of similar weight, at most twice as many and two, from a
  /// non-empty sample.
  Divider(std::span<const T> sample, index_t wanted, Order order);
  ~Divider();
  Divider(Divider&&) noexcept;
  Divider& operator=(Divider&&) noexcept;

  [[nodiscard]] index_t buckets() const;
  /// Returns a fingerprint, equal for the same division on every machine and different for most
  /// others.
  [[nodiscard]] std::uint64_t fingerprint() const;

  /// Groups to[0:n] = from[0:n] by bucket: bucket b is [begin[b], begin[b + 1]), and its keys do
  /// not follow those of bucket b + 1 in the order. The spans do not overlap. Runs on the threads
  /// of the enclosing parallel region.
  void divide(std::span<const T> from, std::span<T> to, std::span<index_t> begin) const;
  /// Sets bucket[j] to the bucket of keys[j], on this thread.
  void classify(std::span<const T> keys, std::uint16_t* bucket) const;

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace tessera::inline v1::sort
