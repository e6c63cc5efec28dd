// Two nested loops over rounds and 4 columns. With the parallel loop over columns inside, every
// round forks for a handful of additions: parallelism near 3, and far below 1 once the cost of
// forks counts. With the loops exchanged it is 4 either way (the example of He, Leiserson and
// Leiserson 2010).

#include "base/hash.hpp"
#include "kernels/forkjoin/variants.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"

namespace tessera::forkjoin {
namespace {

constexpr index_t apart = 8;  // words between columns: one cache line each, against false sharing

// Per update: some 50 ns, so that the loop overhead is small against it and a task is not.
constexpr int mixes = 16;

/// Returns the next value, which depends on the previous one, so that the compiler cannot skip
/// rounds.
[[nodiscard]] std::uint64_t next(std::uint64_t value, index_t round) {
  value += static_cast<std::uint64_t>(round);
  for (int m = 0; m < mixes; ++m) value = mix64(value);
  return value;
}

class Loops : public Problem {
 public:
  Loops(index_t n, index_t threshold) : n_(n), threshold_(threshold), sums_(loop_columns * apart) {
    Loops::prepare();
  }

  void prepare() final {
    for (std::uint64_t& sum : sums_) sum = 0;
  }

  [[nodiscard]] index_t mistakes() const final {
    index_t wrong = 0;
    for (index_t column = 0; column < loop_columns; ++column) {
      auto value = static_cast<std::uint64_t>(column);
      for (index_t round = 0; round < n_; ++round) value = next(value, round);
      wrong += sums_[column * apart] == (n_ > 0 ? value : 0) ? 0 : 1;
    }
    return wrong;
  }

 protected:
  void step(index_t column, index_t round) {
    std::uint64_t& sum = sums_[column * apart];
    sum = next(round == 0 ? static_cast<std::uint64_t>(column) : sum, round);
  }

  index_t n_, threshold_;

 private:
  machine::Buffer<std::uint64_t> sums_;
};

class Inside final : public Loops {
 public:
  using Loops::Loops;
  void run() override {
    for (index_t round = 0; round < n_; ++round) {
      machine::parallel_for(0, loop_columns, threshold_, [this, round](index_t begin, index_t end) {
        for (index_t column = begin; column < end; ++column) step(column, round);
      });
    }
  }
};

class Outside final : public Loops {
 public:
  using Loops::Loops;
  void run() override {
    machine::parallel_for(0, loop_columns, threshold_, [this](index_t begin, index_t end) {
      for (index_t column = begin; column < end; ++column) {
        for (index_t round = 0; round < n_; ++round) step(column, round);
      }
    });
  }
};

}  // namespace

std::unique_ptr<Problem> loops_parallel_inside(index_t n, index_t threshold) {
  return std::make_unique<Inside>(n, threshold);
}

std::unique_ptr<Problem> loops_parallel_outside(index_t n, index_t threshold) {
  return std::make_unique<Outside>(n, threshold);
}

}  // namespace tessera::forkjoin
