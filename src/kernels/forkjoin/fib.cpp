// The probe of recursive Fibonacci numbers.

#include "kernels/forkjoin/fib.hpp"

#include <utility>

namespace tessera::inline v1::forkjoin {

std::uint64_t fibonacci(index_t n) {
  std::uint64_t a = 0, b = 1;
  for (index_t i = 0; i < n; ++i) a = std::exchange(b, a + b);
  return a;
}

std::unique_ptr<Problem> fib(index_t n, index_t threshold) {
  return std::make_unique<Fib<std::uint64_t>>(n, threshold);
}

}  // namespace tessera::inline v1::forkjoin
