// The products count their multiplications, each once.

#include <gtest/gtest.h>

#include <algorithm>

#include "base/work_done.hpp"
#include "kernels/matmul/cache_oblivious.hpp"
#include "kernels/matmul/variants.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"

namespace tessera::matmul {
namespace {

/// Returns the multiplications counted during a product of these extents, and expects its value.
template <class T>
index_t counted(const char* kernel, index_t m, index_t n, index_t k, int threads) {
  machine::Buffer<T> a(m * k), b(k * n), c(m * n);
  std::fill(a.begin(), a.end(), T{1});
  std::fill(b.begin(), b.end(), T{1});
  Gemm<T> g;
  g.a = matrix_view<const T>(a.data(), m, k);
  g.b = matrix_view<const T>(b.data(), k, n);
  g.c = matrix_view(c.data(), m, n);
  const index_t before = work_done().multiplied;
  machine::parallel(threads, [&] { (*find_variant(variants(), kernel))(g, Tuning{}); });
  EXPECT_EQ(c[m * n - 1], T(static_cast<Real<T>>(k)));
  return work_done().multiplied - before;
}

TEST(CountsMultiplications, OfEveryKernelOfTheCpu) {
  for (const char* kernel : {"naive", "transposed", "tiled", "transposed_tiled", "column", "zigzag",
                             "recursive", "cache_oblivious"})
    for (const int threads : {1, 3}) {
      EXPECT_EQ(counted<double>(kernel, 403, 301, 517, threads), 403 * 301 * 517) << kernel;
      EXPECT_EQ(counted<float>(kernel, 130, 701, 205, threads), 130 * 701 * 205) << kernel;
    }
}

TEST(CountsMultiplications, OfTallAndWideProducts) {
  for (const int threads : {1, 3}) {
    EXPECT_EQ(counted<double>("cache_oblivious", 20000, 8, 64, threads), 20000 * 8 * 64);
    EXPECT_EQ(counted<double>("cache_oblivious", 8, 9, 200000, threads), 8 * 9 * 200000);
    EXPECT_EQ(counted<Complex<double>>("cache_oblivious", 300, 301, 302, threads), 300 * 301 * 302);
  }
}

}  // namespace
}  // namespace tessera::matmul
