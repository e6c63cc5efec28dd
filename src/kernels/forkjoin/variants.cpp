// The table of fork-join problems.

#include "kernels/forkjoin/variants.hpp"

#include <array>
#include <cmath>

namespace tessera::forkjoin {
namespace {

constexpr double golden = 1.6180339887498949;

double lg(double n) { return std::log2(std::max(2.0, n)); }
double cube(double n) { return n * n * n; }

double fib_theory(double n) { return n > 0 ? std::pow(golden, n) / n : 1; }
double fib_calls(double n) {
  return 2 * static_cast<double>(fibonacci(static_cast<index_t>(n) + 1)) - 1;
}
double one(double) { return 1; }
double keys(double n) { return n; }
double parallel_merge_theory(double n) { return n / (lg(n) * lg(n)); }
double square(double n) { return n * n; }
double multiply_adds(double n) { return 2 * cube(n); }
double updates(double n) { return n * static_cast<double>(loop_columns); }

constexpr index_t many_keys = index_t{1} << 32;

constexpr std::array<Variant, 8> table{{
    {{"fib", Space::host, "recursive Fibonacci numbers, both calls forked: cost of forks only"},
     "number",
     32,
     60,
     "number",
     16,
     "phi^n / n",
     fib_theory,
     fib_calls,
     "Mops/s",
     fib},
    {{"quicksort", Space::host, "fork-join quicksort, serial partition"},
     "keys",
     10'000'000,
     many_keys,
     "keys",
     4096,
     "lg n",
     lg,
     keys,
     "Mops/s",
     quicksort},
    {{"mergesort_serial_merge", Space::host,
      "fork-join merge sort, serial merges (Cormen et al. 2009)"},
     "keys",
     10'000'000,
     many_keys,
     "keys",
     4096,
     "lg n",
     lg,
     keys,
     "Mops/s",
     mergesort_serial_merge},
    {{"mergesort_parallel_merge", Space::host,
      "fork-join merge sort, parallel merges (Cormen et al. 2009)"},
     "keys",
     10'000'000,
     many_keys,
     "keys",
     4096,
     "n / lg^2 n",
     parallel_merge_theory,
     keys,
     "Mops/s",
     mergesort_parallel_merge},
    {{"matmul_recursive", Space::host,
      "recursive product, halves of k in sequence, no temporaries"},
     "edge",
     512,
     65536,
     "edge",
     32,
     "n^2",
     square,
     multiply_adds,
     "Mops/s",
     matmul_recursive},
    {{"matmul_iterative", Space::host, "triple loop, parallel loop over the rows"},
     "edge",
     512,
     65536,
     "rows",
     8,
     "n",
     keys,
     multiply_adds,
     "Mops/s",
     matmul_iterative},
    {{"loops_parallel_inside", Space::host,
      "parallel loop of 4 inside a serial loop of n: tiny tasks"},
     "rounds",
     100'000,
     many_keys,
     "columns",
     1,
     "1",
     one,
     updates,
     "Mops/s",
     loops_parallel_inside},
    {{"loops_parallel_outside", Space::host,
      "serial loop of n inside a parallel loop of 4: loops interchanged"},
     "rounds",
     100'000,
     many_keys,
     "columns",
     1,
     "1",
     one,
     updates,
     "Mops/s",
     loops_parallel_outside},
}};

}  // namespace

std::span<const Variant> variants() { return table; }

}  // namespace tessera::forkjoin
