#pragma once
// The probes of the task runtime: small computations of known theoretical parallelism. Each forks
// down to `threshold` and runs plain serial code below it.

#include <memory>
#include <span>

#include "kernels/forkjoin/problem.hpp"
#include "kernels/variant.hpp"

namespace tessera::forkjoin {

struct Variant : VariantInfo {
  std::string_view size;       ///< the meaning of n
  index_t n;                   ///< default
  index_t most;                ///< beyond it numbers overflow or runs take too long
  std::string_view leaf;       ///< the meaning of the threshold
  index_t threshold;           ///< default
  std::string_view growth;     ///< of the parallelism, in n
  double (*theory)(double n);  ///< the same as a function, up to a factor
  double (*work)(double n);    ///< operations of one run
  std::string_view rate_units;
  std::unique_ptr<Problem> (*make)(index_t n, index_t threshold);
};

[[nodiscard]] std::span<const Variant> variants();

// Each is in the file of its name. n >= 0, threshold >= 1.
[[nodiscard]] std::unique_ptr<Problem> fib(index_t n, index_t threshold);
[[nodiscard]] std::unique_ptr<Problem> quicksort(index_t n, index_t threshold);
[[nodiscard]] std::unique_ptr<Problem> mergesort_serial_merge(index_t n, index_t threshold);
[[nodiscard]] std::unique_ptr<Problem> mergesort_parallel_merge(index_t n, index_t threshold);
[[nodiscard]] std::unique_ptr<Problem> matmul_recursive(index_t n, index_t threshold);
[[nodiscard]] std::unique_ptr<Problem> matmul_iterative(index_t n, index_t threshold);
[[nodiscard]] std::unique_ptr<Problem> loops_parallel_inside(index_t n, index_t threshold);
[[nodiscard]] std::unique_ptr<Problem> loops_parallel_outside(index_t n, index_t threshold);

/// Returns the n-th Fibonacci number, n <= 93, by addition.
[[nodiscard]] std::uint64_t fibonacci(index_t n);
/// Number of columns of the two loops.
inline constexpr index_t loop_columns = 4;

}  // namespace tessera::forkjoin
