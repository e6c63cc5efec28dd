#pragma once
// Fibonacci numbers by their recursive definition, each call forked (the first benchmark of Cilk:
// Blumofe et al. 1995). Work grows as the golden ratio to the n, span is linear: the probe measures
// almost only the cost of tasks. A template on the type whose operations are counted: one a call.

#include "base/operations.hpp"
#include "kernels/forkjoin/problem.hpp"
#include "kernels/forkjoin/variants.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::forkjoin {

template <class T>
[[gnu::noinline]] std::uint64_t fib_serial(index_t n) {
  Operations<T>::count(1);
  return n < 2 ? static_cast<std::uint64_t>(n) : fib_serial<T>(n - 1) + fib_serial<T>(n - 2);
}

template <class T>
std::uint64_t fib_forked(index_t n, index_t threshold) {
  if (n < 2 || n <= threshold) return fib_serial<T>(n);
  Operations<T>::count(1);
  std::uint64_t left = 0, right = 0;
  machine::fork_join([&, n, threshold] { left = fib_forked<T>(n - 1, threshold); },
                     [&, n, threshold] { right = fib_forked<T>(n - 2, threshold); });
  return left + right;
}

template <class T>
class Fib final : public Problem {
 public:
  Fib(index_t n, index_t threshold) : n_(n), threshold_(threshold) {}
  void run() override { result_ = fib_forked<T>(n_, threshold_); }
  [[nodiscard]] index_t mistakes() const override { return result_ == fibonacci(n_) ? 0 : 1; }

 private:
  index_t n_, threshold_;
  std::uint64_t result_ = ~std::uint64_t{0};
};

}  // namespace tessera::inline v1::forkjoin
