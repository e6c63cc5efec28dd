#pragma once
// Functions shared by the sorting probes: random keys, and checks of order and completeness.

#include "base/random.hpp"
#include "kernels/forkjoin/problem.hpp"
#include "machine/buffer.hpp"

namespace tessera::inline v1::forkjoin {

/// Length below which both sorting probes use insertion sort, whatever the threshold.
inline constexpr index_t insertion_leaf = 24;

template <class Key>
void insert_keys(Key* data, index_t n) {
  for (index_t i = 1; i < n; ++i) {
    const Key key = data[i];
    index_t hole = i;
    for (; hole > 0 && key < data[hole - 1]; --hole) data[hole] = data[hole - 1];
    data[hole] = key;
  }
}

template <class Key>
class SortProblem : public Problem {
 public:
  explicit SortProblem(index_t n) : keys_(n) { SortProblem::prepare(); }

  void prepare() final {
    for (index_t i = 0; i < keys_.size(); ++i) keys_[i] = key(i);
  }

  [[nodiscard]] index_t mistakes() const final {
    index_t wrong = 0;
    std::uint64_t sum = 0;
    for (index_t i = 0; i < keys_.size(); ++i) {
      sum += mix64(keys_[i]) - mix64(key(i));
      wrong += i > 0 && keys_[i] < keys_[i - 1] ? 1 : 0;
    }
    return wrong + (sum == 0 ? 0 : 1);
  }

 protected:
  [[nodiscard]] machine::Buffer<Key>& keys() { return keys_; }

 private:
  [[nodiscard]] static std::uint64_t key(index_t i) { return random_bits(1, 0, i); }

  machine::Buffer<Key> keys_;
};

}  // namespace tessera::inline v1::forkjoin
