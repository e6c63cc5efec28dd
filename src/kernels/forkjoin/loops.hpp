#pragma once
// Two nested loops over rounds and 4 columns. With the parallel loop over columns inside, every
// round forks for a handful of additions: parallelism near 3, and far below 1 once the cost of
// forks counts. With the loops exchanged it is 4 either way (the example of He, Leiserson and
// Leiserson 2010). A template for plain and traced sums.

#include "base/hash.hpp"
#include "base/operations.hpp"
#include "kernels/forkjoin/problem.hpp"
#include "kernels/forkjoin/variants.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::forkjoin {
inline constexpr index_t loop_stride =
    8;  // words between columns: one cache line each, against false sharing

// Per update: some 50 ns, so that the loop overhead is small against it and a task is not.
inline constexpr int loop_mixes = 16;

/// Returns the next value, which depends on the previous one, so that the compiler cannot skip
/// rounds.
[[nodiscard]] inline std::uint64_t next_of_loop(std::uint64_t value, index_t round) {
  value += static_cast<std::uint64_t>(round);
  for (int m = 0; m < loop_mixes; ++m) value = mix64(value);
  return value;
}

template <class T>
class Loops : public Problem {
 public:
  Loops(index_t n, index_t threshold)
      : n_(n), threshold_(threshold), sums_(loop_columns * loop_stride) {
    Loops::prepare();
  }

  void prepare() final {
    for (T& sum : sums_) sum = 0;
  }

  [[nodiscard]] index_t mistakes() const final {
    index_t wrong = 0;
    for (index_t column = 0; column < loop_columns; ++column) {
      auto value = static_cast<std::uint64_t>(column);
      for (index_t round = 0; round < n_; ++round) value = next_of_loop(value, round);
      wrong += sums_[column * loop_stride] == (n_ > 0 ? value : 0) ? 0 : 1;
    }
    return wrong;
  }

 protected:
  void step(index_t column, index_t round) {
    T& sum = sums_[column * loop_stride];
    Operations<T>::count(loop_mixes);
    sum = next_of_loop(
        round == 0 ? static_cast<std::uint64_t>(column) : static_cast<std::uint64_t>(sum), round);
  }

  index_t n_, threshold_;

 private:
  machine::Buffer<T> sums_;
};

template <class T>
class LoopsInside final : public Loops<T> {
 public:
  using Loops<T>::Loops;
  void run() override {
    for (index_t round = 0; round < this->n_; ++round) {
      machine::parallel_for(0, loop_columns, this->threshold_,
                            [this, round](index_t begin, index_t end) {
                              for (index_t column = begin; column < end; ++column)
                                this->step(column, round);
                            });
    }
  }
};

template <class T>
class LoopsOutside final : public Loops<T> {
 public:
  using Loops<T>::Loops;
  void run() override {
    machine::parallel_for(0, loop_columns, this->threshold_, [this](index_t begin, index_t end) {
      for (index_t column = begin; column < end; ++column) {
        for (index_t round = 0; round < this->n_; ++round) this->step(column, round);
      }
    });
  }
};

}  // namespace tessera::inline v1::forkjoin
