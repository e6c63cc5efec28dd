#pragma once
// Keys grouped by value as a sample tells to: what a sort out of core does with its input, so that
// all keys of a range can be brought together later and are sorted only then.

#include <memory>
#include <span>

#include "kernels/sort/key.hpp"

namespace tessera::sort {

template <class T>
class Divider {
 public:
  static constexpr index_t most_buckets = 2047;  ///< that can be wanted,
  static constexpr index_t most_samples =
      8192;  ///< and keys of a sample that are looked at: the first ones

  /// About `wanted` buckets of like weight, at most twice as many and two, from a sample that is
  /// not empty.
  Divider(std::span<const T> sample, index_t wanted, Order order);
  ~Divider();
  Divider(Divider&&) noexcept;
  Divider& operator=(Divider&&) noexcept;

  [[nodiscard]] index_t buckets() const;
  /// The same for the same division on every machine, and another one for most others.
  [[nodiscard]] std::uint64_t fingerprint() const;

  /// to[0:n] = from[0:n] in buckets: bucket b lies in [begin[b], begin[b + 1]), and none of its
  /// keys comes after one of bucket b + 1. Neither overlaps the other. In parallel on the threads
  /// of the region it is called in.
  void divide(std::span<const T> from, std::span<T> to, std::span<index_t> begin) const;
  /// bucket[j] = that of keys[j]. By this thread.
  void classify(std::span<const T> keys, std::uint16_t* bucket) const;

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace tessera::sort
