// Device products of operands of 8 bits: --precision int8 and fp8 of cuda_tensor.

#include "kernels/matmul/cuda_quantised.hpp"

#include <cmath>

#include "kernels/cuda_code.hpp"
#include "kernels/matmul/cuda_mixed.hpp"
#include "on_device.hpp"

namespace tessera::matmul {
namespace {

template <class T>
constexpr bool integers = std::is_same_v<T, std::int8_t>;

template <class T>
class QuantisedKernels : public OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (this->IsSkipped()) return;
    const int least = integers<T> ? 80 : 89;
    if (kernels::device_code().architecture < least)
      GTEST_SKIP() << "needs code of compute capability " << least / 10 << "." << least % 10;
  }
  static constexpr Precision precision = integers<T> ? Precision::int8 : Precision::fp8;
  static void multiply(const Gemm<float>& g, DeviceStream stream) {
    cuda_tensor(g, {.precision = precision}, stream);
  }
};
using QuantisedTypes = ::testing::Types<std::int8_t, __nv_fp8_e4m3>;
TYPED_TEST_SUITE(QuantisedKernels, QuantisedTypes);

TYPED_TEST(QuantisedKernels, AreExactOnSmallIntegersOfRandomShapesAnywhere) {
  for (index_t number = 0; number < 24; ++number) {
    const Shape3 s = random_shape(number);
    const Strides strides{number % 3, number / 4 % 4};
    for_ops(s, [&](Op op_a, Op op_b) {
      Operands<float, float> x(s, op_a, op_b, strides);
      const Gemm<float> g{
          2, x.a.view(), op_a, x.b.view(), op_b, number % 2 == 0 ? 0.0F : -3.0F, x.c.view()};
      same_results(
          x.c, 2, [&](DeviceStream stream) { TestFixture::multiply(g, stream); },
          [&](DeviceStream stream) { cublas<float>(g, {}, stream); });
    });
  }
}

/// Compares run(g, stream) on operands that are quantised already with cublas.
template <class T, class Run>
void compare_quantised(const Run& run, Shape3 s, float beta, int runs) {
  SCOPED_TRACE(text(s, Op::none, Op::transpose));
  const Strides strides{0, 0, 16};
  const Operands<T, float> x(s, Op::none, Op::transpose, strides);
  Operands<float, float> y(s, Op::none, Op::transpose, strides);
  const std::vector<float> ones(static_cast<std::size_t>(std::max(s.m, s.n)), 1.0F);
  const cuda::DeviceBuffer<float> units(static_cast<index_t>(ones.size()));
  cuda::upload(units.data(), ones.data(), ones.size());
  const QuantisedGemm<T> ours{2,    x.a.view(), x.b.view(), units.data(), units.data(),
                              beta, y.c.view()};
  const Gemm<float> theirs{2, y.a.view(), Op::none, y.b.view(), Op::transpose, beta, y.c.view()};
  same_results(
      y.c, runs, [&](DeviceStream stream) { run(ours, stream); },
      [&](DeviceStream stream) { cublas<float>(theirs, {}, stream); });
}

TYPED_TEST(QuantisedKernels, OfGroupsAndOfSingleWarpsAreExactEveryTime) {
  const auto by_warps = [](const QuantisedGemm<TypeParam>& g, DeviceStream stream) {
    cuda_quantised_mma(g, stream);
  };
  const auto by_groups = [](const QuantisedGemm<TypeParam>& g, DeviceStream stream) {
    EXPECT_TRUE(cuda_quantised_wgmma(g, stream));
  };
  for (const Shape3 s : {Shape3{1, 1, 1}, Shape3{128, 256, 128}, Shape3{127, 255, 31},
                         Shape3{129, 257, 65}, Shape3{300, 1, 100}, Shape3{65, 63, 1030}}) {
    compare_quantised<TypeParam>(by_warps, s, -3, 1);
    if (kernels::device_code().wgmma) compare_quantised<TypeParam>(by_groups, s, -3, 1);
  }
  compare_quantised<TypeParam>(by_warps, {2301, 2177, 1000}, 0, 5);
  if (kernels::device_code().wgmma)
    compare_quantised<TypeParam>(by_groups, {2301, 2177, 1000}, 0, 5);
}

/// The largest magnitudes of the rows of op(x), or of the columns.
struct Largest {
  std::vector<double> of;
  template <class Element>
  Largest(index_t count, index_t k, const Element& element) {
    for (index_t i = 0; i < count; ++i) {
      double here = 0;
      for (index_t p = 0; p < k; ++p) here = std::max(here, std::abs(element(i, p)));
      of.push_back(here);
    }
  }
};

/// Expects that c is the product within the bound of the precision's rounding, and that nothing
/// around it has changed.
void expect_within_bound(Operands<float, float>& x, const Gemm<float>& g, Precision precision) {
  const RoundingError r = rounding_error(precision);
  const cuda::Stream stream;
  x.c.put();
  cuda_tensor(g, {.precision = precision}, stream);
  stream.wait();
  std::vector<float> got = x.c.bytes();
  const index_t k = g.k();
  const auto a = [&](index_t i, index_t p) -> double {
    return g.op_a == Op::none ? x.a(i, p) : x.a(p, i);
  };
  const auto b = [&](index_t j, index_t p) -> double {
    return g.op_b == Op::none ? x.b(p, j) : x.b(j, p);
  };
  const Largest rows(g.m(), k, a), cols(g.n(), k, b);
  const auto off = [&](double value, double largest) {
    return r.relative() * std::abs(value) + r.of_largest * largest + r.absolute;
  };
  for (index_t i = 0; i < g.m(); ++i) {
    for (index_t j = 0; j < g.n(); ++j) {
      const double of_row = rows.of[static_cast<std::size_t>(i)],
                   of_col = cols.of[static_cast<std::size_t>(j)];
      double sum = 0, sizes = 0, error = 0;
      for (index_t p = 0; p < k; ++p) {
        const double av = a(i, p), bv = b(j, p), da = off(av, of_row), db = off(bv, of_col);
        sum += av * bv;
        sizes += std::abs(av * bv);
        error += da * std::abs(bv) + std::abs(av) * db + da * db +
                 (r.of_sums + r.of_each * static_cast<double>(k)) * (std::abs(av) + da) *
                     (std::abs(bv) + db);
      }
      const double old = g.beta == 0 ? 0 : static_cast<double>(g.beta) * x.c(i, j);
      const double want = static_cast<double>(g.alpha) * sum + old;
      const double bound =
          std::abs(g.alpha) * error +
          0x1p-24 * static_cast<double>(k + 8) * (std::abs(g.alpha) * sizes + std::abs(old)) +
          0x1p-148;
      const double here = got[x.c.at(i, j)];
      got[x.c.at(i, j)] = x.c(i, j);  // as before, for the comparison below
      ASSERT_LE(std::abs(here - want), bound) << i << ", " << j;
    }
  }
  x.c.put();
  ASSERT_EQ(got, x.c.bytes()) << "written outside of c";
}

/// Random values; those of a row of op(a), or a column of op(b), have a magnitude of their own.
void fill_random(OnDevice<float>& x, bool by_row, std::uint64_t stream) {
  x.fill([&](index_t i, index_t j) {
    const auto of_line = static_cast<int>(random_bits(5, stream, by_row ? i : j) % 41) - 20;
    return std::ldexp(random_symmetric<float>(6, stream, i * x.view().cols + j), of_line);
  });
}

TYPED_TEST(QuantisedKernels, ErrAsFarAsTheirBoundAllows) {
  for (index_t number = 0; number < 12; ++number) {
    const Shape3 s = random_shape(number);
    for_ops(s, [&](Op op_a, Op op_b) {
      Operands<float, float> x(s, op_a, op_b, {number % 3, number % 4});
      fill_random(x.a, op_a == Op::none, 1);
      fill_random(x.b, op_b == Op::transpose, 2);
      expect_within_bound(
          x, {1.5F, x.a.view(), op_a, x.b.view(), op_b, number % 2 == 0 ? 0.0F : 0.5F, x.c.view()},
          TestFixture::precision);
    });
  }
}

TYPED_TEST(QuantisedKernels, KeepWhatIsNotFiniteInItsRowsAndColumns) {
  const Shape3 s{40, 37, 150};
  for_ops(s, [&](Op op_a, Op op_b) {
    Operands<float, float> x(s, op_a, op_b, {1, 2});
    const auto value = [](std::uint64_t stream, index_t i, index_t p) {
      return random_symmetric<float>(8, stream, i * 1000 + p);
    };
    const auto a = [&](index_t i, index_t p) -> float {
      if (i == 3 && p == 5) return std::nanf("");
      if (i == 7 && p == 149) return INFINITY;
      if (i == 9) return 0;
      return value(1, i, p) * (i == 11 ? 1e-42F : i == 13 ? 3e38F : 1.0F);
    };
    const auto b = [&](index_t j, index_t p) -> float {
      return j == 6 && p == 0 ? -INFINITY : value(2, j, p) * (j == 8 ? 1e-30F : 1e-3F);
    };
    x.a.fill([&](index_t i, index_t j) { return op_a == Op::none ? a(i, j) : a(j, i); });
    x.b.fill([&](index_t i, index_t j) { return op_b == Op::none ? b(j, i) : b(i, j); });
    const Gemm<float> g{1, x.a.view(), op_a, x.b.view(), op_b, 0, x.c.view()};
    const cuda::Stream stream;
    TestFixture::multiply(g, stream);
    stream.wait();
    const std::vector<float> c = x.c.bytes();
    for (index_t i = 0; i < s.m; ++i) {
      for (index_t j = 0; j < s.n; ++j) {
        const float here = c[x.c.at(i, j)];
        ASSERT_EQ(std::isnan(here), i == 3 || i == 7 || j == 6) << i << ", " << j;
        if (i == 9 && j != 6) {
          ASSERT_EQ(here, 0);
        }
      }
    }
    // The same without them is within the bound, also with the smallest and the largest numbers.
    x.a.fill([&](index_t i, index_t j) {
      const float here = op_a == Op::none ? a(i, j) : a(j, i);
      return std::isfinite(here) ? here : 1.0F;
    });
    x.b.fill([&](index_t i, index_t j) {
      const float here = op_b == Op::none ? b(j, i) : b(i, j);
      return std::isfinite(here) ? here : 1e-3F;
    });
    expect_within_bound(x, g, TestFixture::precision);
  });
}

TYPED_TEST(QuantisedKernels, ScaleWhereThereIsNothingToMultiply) {
  OnDevice<float> c(130, 71, 3, 2, 75);
  const std::vector<float> before = c.bytes();
  const MatrixView<const float> a{nullptr, 130, 0, 0}, b{nullptr, 0, 71, 71};
  const cuda::Stream stream;
  TestFixture::multiply({1, a, Op::none, b, Op::none, -2, c.view()}, stream);
  stream.wait();
  const std::vector<float> after = c.bytes();
  for (index_t i = 0; i < 130; ++i) {
    for (index_t j = 0; j < 71; ++j) ASSERT_EQ(after[c.at(i, j)], -2 * before[c.at(i, j)]);
  }
}

TYPED_TEST(QuantisedKernels, CutSumsThatIntegersOf32BitsDoNotHold) {
  const Shape3 s{3, 130, 140'001};
  for_ops(s, [&](Op op_a, Op op_b) {
    Operands<float, float> x(s, op_a, op_b, {0, 0});
    const auto a = [](index_t i, index_t p) -> float {
      return i == 0 ? 127 : i == 1 ? (p % 2 == 0 ? 127 : -127) : p < 140'000 ? 0 : -127;
    };
    x.a.fill([&](index_t i, index_t j) { return op_a == Op::none ? a(i, j) : a(j, i); });
    x.b.fill([](index_t, index_t) { return 127.0F; });
    const cuda::Stream stream;
    TestFixture::multiply({1, x.a.view(), op_a, x.b.view(), op_b, 0, x.c.view()}, stream);
    stream.wait();
    const std::vector<float> c = x.c.bytes();
    constexpr double square = integers<TypeParam> ? 127 * 127 : 128 * 128;  // fp8 has no 127
    for (index_t j = 0; j < s.n; ++j) {
      const auto at = [&](index_t i) { return static_cast<double>(c[x.c.at(i, j)]); };
      ASSERT_NEAR(at(0) / (square * 140'001), 1, 1e-3);
      ASSERT_EQ(at(1), square);
      ASSERT_EQ(at(2), -square);
    }
    if (integers<TypeParam>) {
      ASSERT_EQ(c[x.c.at(0, 0)], static_cast<float>(square * 131'072) +
                                     static_cast<float>(square * (140'001 - 131'072)));
    }
  });
}

}  // namespace
}  // namespace tessera::matmul
