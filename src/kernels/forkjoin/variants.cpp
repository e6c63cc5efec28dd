// The table of fork-join problems.

#include "kernels/forkjoin/variants.hpp"

#include <array>
#include <cmath>

namespace tessera::inline v1::forkjoin {
namespace {

constexpr double golden = 1.6180339887498949;

double lg(double n) { return std::log2(std::max(2.0, n)); }
double cubed(double n) { return n * n * n; }
double squared(double n) { return n * n; }
double keys(double n) { return n; }

// Operations of a run.
double fib_calls(double n) {
  return 2 * static_cast<double>(fibonacci(static_cast<index_t>(n) + 1)) - 1;
}
double multiply_adds(double n) { return 2 * cubed(n); }
double lu_flops(double n) { return 2 * cubed(n) / 3; }
double fft_flops(double n) { return 5 * n * lg(n); }
double edges(double n) { return static_cast<double>(bfs_degree) * n; }
double updates(double n) { return n * static_cast<double>(loop_columns); }

constexpr Growth constant{"1", [](double) { return 1.0; }};
constexpr Growth linear{"n", keys};
constexpr Growth square{"n^2", squared};
constexpr Growth cube{"n^3", cubed};
constexpr Growth lg_n{"lg n", lg};
constexpr Growth lg2_n{"lg^2 n", [](double n) { return squared(lg(n)); }};
constexpr Growth lg3_n{"lg^3 n", [](double n) { return cubed(lg(n)); }};
constexpr Growth n_lg_n{"n lg n", [](double n) { return n * lg(n); }};
constexpr Growth n_lg3{"n^lg 3", [](double n) { return std::pow(n, lg(3)); }};
constexpr Growth n_lg7{"n^lg 7", [](double n) { return std::pow(n, lg(7)); }};
constexpr Growth phi_n{"phi^n", [](double n) { return std::pow(golden, n); }};
constexpr Growth phi_over_n{"phi^n / n",
                            [](double n) { return n > 0 ? std::pow(golden, n) / n : 1; }};
constexpr Growth n_over_lg{"n / lg n", [](double n) { return n / lg(n); }};
constexpr Growth n_over_lg2{"n / lg^2 n", [](double n) { return n / squared(lg(n)); }};
constexpr Growth square_over_lg{"n^2 / lg n", [](double n) { return n * n / lg(n); }};
constexpr Growth cube_over_lg2{"n^3 / lg^2 n", [](double n) { return cubed(n) / squared(lg(n)); }};
constexpr Growth strassen_over_lg2{"n^lg 7 / lg^2 n",
                                   [](double n) { return std::pow(n, lg(7)) / squared(lg(n)); }};
constexpr Growth n_2_minus_lg3{"n^(2 - lg 3)", [](double n) { return std::pow(n, 2 - lg(3)); }};

constexpr index_t many_keys = index_t{1} << 32;

constexpr std::array<Variant, 16> table{{
    {{"fib", Space::host, "recursive Fibonacci numbers, both calls forked: cost of forks only"},
     "number",
     32,
     60,
     "number",
     16,
     phi_over_n,
     fib_calls,
     "Mops/s",
     fib,
     phi_n,
     linear},
    {{"quicksort", Space::host, "fork-join quicksort, serial partition"},
     "keys",
     10'000'000,
     many_keys,
     "keys",
     4096,
     lg_n,
     keys,
     "Mops/s",
     quicksort,
     n_lg_n,
     linear},
    {{"mergesort_serial_merge", Space::host,
      "fork-join merge sort, serial merges (Cormen et al. 2009)"},
     "keys",
     10'000'000,
     many_keys,
     "keys",
     4096,
     lg_n,
     keys,
     "Mops/s",
     mergesort_serial_merge,
     n_lg_n,
     linear},
    {{"mergesort_parallel_merge", Space::host,
      "fork-join merge sort, parallel merges (Cormen et al. 2009)"},
     "keys",
     10'000'000,
     many_keys,
     "keys",
     4096,
     n_over_lg2,
     keys,
     "Mops/s",
     mergesort_parallel_merge,
     n_lg_n,
     lg3_n},
    {{"matmul_recursive", Space::host,
      "recursive product, halves of k in sequence, no temporaries"},
     "edge",
     512,
     65536,
     "edge",
     32,
     square,
     multiply_adds,
     "Mops/s",
     matmul_recursive,
     cube,
     linear},
    {{"matmul_iterative", Space::host, "triple loop, parallel loop over the rows"},
     "edge",
     512,
     65536,
     "rows",
     8,
     linear,
     multiply_adds,
     "Mops/s",
     matmul_iterative,
     cube,
     square},
    {{"matmul_temporaries", Space::host,
      "recursive product, both halves of k at once, temporaries (Cormen et al. 2009)"},
     "edge",
     512,
     16384,
     "edge",
     32,
     cube_over_lg2,
     multiply_adds,
     "Mops/s",
     matmul_temporaries,
     cube,
     lg2_n},
    {{"strassen", Space::host,
      "product of Strassen (1969) with temporaries, sums in parallel loops"},
     "edge",
     512,
     16384,
     "edge",
     64,
     strassen_over_lg2,
     multiply_adds,
     "Mops/s",
     strassen,
     n_lg7,
     lg2_n},
    {{"lu", Space::host, "LU decomposition by halves, without pivoting (Toledo 1997)"},
     "edge",
     512,
     16384,
     "edge",
     32,
     square_over_lg,
     lu_flops,
     "Mops/s",
     lu,
     cube,
     n_lg_n},
    {{"tableau", Space::host,
      "tableau of longest common subsequences, by quarters (Cormen et al. 2009)"},
     "edge",
     4096,
     65536,
     "edge",
     128,
     n_2_minus_lg3,
     squared,
     "Mops/s",
     tableau,
     square,
     n_lg3},
    {{"fft", Space::host, "fast Fourier transform, recursive (Cooley and Tukey 1965)"},
     "points",
     1 << 20,
     index_t{1} << 28,
     "points",
     4096,
     n_over_lg,
     fft_flops,
     "Mops/s",
     fft,
     n_lg_n,
     lg2_n},
    {{"bfs", Space::host, "breadth-first search by levels, random graph, 8 edges a vertex"},
     "vertices",
     1'000'000,
     index_t{1} << 28,
     "vertices",
     256,
     n_over_lg2,
     edges,
     "Mops/s",
     bfs,
     linear,
     lg2_n},
    {{"histogram", Space::host, "histogram of 256 values, counters of each half added"},
     "keys",
     10'000'000,
     many_keys,
     "keys",
     65536,
     n_over_lg,
     keys,
     "Mops/s",
     histogram,
     linear,
     lg_n},
    {{"scan", Space::host, "prefix sums in two passes over a tree (Blelloch 1990)"},
     "elements",
     10'000'000,
     many_keys,
     "elements",
     8192,
     n_over_lg,
     keys,
     "Mops/s",
     scan,
     linear,
     lg_n},
    {{"loops_parallel_inside", Space::host,
      "parallel loop of 4 inside a serial loop of n: tiny tasks"},
     "rounds",
     100'000,
     many_keys,
     "columns",
     1,
     constant,
     updates,
     "Mops/s",
     loops_parallel_inside,
     linear,
     linear},
    {{"loops_parallel_outside", Space::host,
      "serial loop of n inside a parallel loop of 4: loops interchanged"},
     "rounds",
     100'000,
     many_keys,
     "columns",
     1,
     constant,
     updates,
     "Mops/s",
     loops_parallel_outside,
     linear,
     linear},
}};

}  // namespace

std::span<const Variant> variants() { return table; }

}  // namespace tessera::inline v1::forkjoin
