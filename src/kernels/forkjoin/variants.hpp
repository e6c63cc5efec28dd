#pragma once
// The probes of the task runtime: small computations of known theoretical parallelism. Each forks
// down to `threshold` and runs plain serial code below it.

#include <memory>
#include <span>

#include "kernels/forkjoin/problem.hpp"
#include "kernels/variant.hpp"

namespace tessera::inline v1::forkjoin {

/// A function of n up to a factor, and its name.
struct Growth {
  std::string_view name;
  double (*of)(double n);
};

struct Variant : VariantInfo {
  std::string_view size;     ///< the meaning of n
  index_t n;                 ///< default
  index_t most;              ///< beyond it numbers overflow or runs take too long
  std::string_view leaf;     ///< the meaning of the threshold
  index_t threshold;         ///< default
  Growth parallelism;        ///< in theory
  double (*work)(double n);  ///< operations of one run
  std::string_view rate_units;
  std::unique_ptr<Problem> (*make)(index_t n, index_t threshold);
  Growth one, infinite;  ///< work and span in theory (Cormen et al. 2009, chapter 27)
};

[[nodiscard]] std::span<const Variant> variants();

// Each is in the file of its name. n >= 0, threshold >= 1.
[[nodiscard]] std::unique_ptr<Problem> fib(index_t n, index_t threshold);
[[nodiscard]] std::unique_ptr<Problem> quicksort(index_t n, index_t threshold);
[[nodiscard]] std::unique_ptr<Problem> mergesort_serial_merge(index_t n, index_t threshold);
[[nodiscard]] std::unique_ptr<Problem> mergesort_parallel_merge(index_t n, index_t threshold);
[[nodiscard]] std::unique_ptr<Problem> matmul_recursive(index_t n, index_t threshold);
[[nodiscard]] std::unique_ptr<Problem> matmul_iterative(index_t n, index_t threshold);
[[nodiscard]] std::unique_ptr<Problem> matmul_temporaries(index_t n, index_t threshold);
[[nodiscard]] std::unique_ptr<Problem> strassen(index_t n, index_t threshold);
[[nodiscard]] std::unique_ptr<Problem> lu(index_t n, index_t threshold);
[[nodiscard]] std::unique_ptr<Problem> tableau(index_t n, index_t threshold);
[[nodiscard]] std::unique_ptr<Problem> fft(index_t n, index_t threshold);
[[nodiscard]] std::unique_ptr<Problem> bfs(index_t n, index_t threshold);
[[nodiscard]] std::unique_ptr<Problem> histogram(index_t n, index_t threshold);
[[nodiscard]] std::unique_ptr<Problem> scan(index_t n, index_t threshold);
[[nodiscard]] std::unique_ptr<Problem> loops_parallel_inside(index_t n, index_t threshold);
[[nodiscard]] std::unique_ptr<Problem> loops_parallel_outside(index_t n, index_t threshold);

/// Returns the n-th Fibonacci number, n <= 93, by addition.
[[nodiscard]] std::uint64_t fibonacci(index_t n);
/// Number of columns of the two loops.
inline constexpr index_t loop_columns = 4;
/// Number of edges from a vertex of the graph of bfs.
inline constexpr index_t bfs_degree = 8;

}  // namespace tessera::inline v1::forkjoin
