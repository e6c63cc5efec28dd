// Fibonacci numbers by their recursive definition, each call forked (the first benchmark of Cilk:
// Blumofe et al. 1995). Work grows as the golden ratio to the n, span is linear: the probe measures
// almost only the cost of tasks.

#include <utility>

#include "kernels/forkjoin/variants.hpp"
#include "machine/fork_join.hpp"

namespace tessera::forkjoin {
namespace {

[[gnu::noinline]] std::uint64_t serial(index_t n) {
  return n < 2 ? static_cast<std::uint64_t>(n) : serial(n - 1) + serial(n - 2);
}

std::uint64_t forked(index_t n, index_t threshold) {
  if (n < 2 || n <= threshold) return serial(n);
  std::uint64_t left = 0, right = 0;
  machine::fork_join([&, n, threshold] { left = forked(n - 1, threshold); },
                     [&, n, threshold] { right = forked(n - 2, threshold); });
  return left + right;
}

class Fib final : public Problem {
 public:
  Fib(index_t n, index_t threshold) : n_(n), threshold_(threshold) {}
  void run() override { result_ = forked(n_, threshold_); }
  [[nodiscard]] index_t mistakes() const override { return result_ == fibonacci(n_) ? 0 : 1; }

 private:
  index_t n_, threshold_;
  std::uint64_t result_ = ~std::uint64_t{0};
};

}  // namespace

std::uint64_t fibonacci(index_t n) {
  std::uint64_t a = 0, b = 1;
  for (index_t i = 0; i < n; ++i) a = std::exchange(b, a + b);
  return a;
}

std::unique_ptr<Problem> fib(index_t n, index_t threshold) {
  return std::make_unique<Fib>(n, threshold);
}

}  // namespace tessera::forkjoin
