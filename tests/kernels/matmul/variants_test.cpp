// Products of every row of the table: new variants are tested automatically.

#include "kernels/matmul/variants.hpp"

#include <algorithm>
#include <complex>
#include <vector>

#include "machine/fork_join.hpp"
#include "machine/gpu.hpp"
#include "matrices.hpp"

namespace tessera::matmul {
namespace {

constexpr Shape3 shapes[] = {
    {0, 0, 0},    {0, 5, 3},    {5, 0, 3},      {4, 6, 0},      {1, 1, 1},    {1, 7, 5},
    {9, 1, 4},    {3, 5, 1},    {7, 23, 11},    {8, 24, 16},    {9, 25, 17},  {6, 48, 31},
    {13, 49, 64}, {64, 33, 65}, {33, 100, 257}, {101, 97, 103}, {5, 200, 30}, {200, 5, 30},
    {2, 3, 2100}, {1300, 7, 5}, {1234, 16, 20}};

/// Returns the rows that this machine can run for elements of type T.
template <class T>
std::vector<Variant> usable() {
  std::vector<Variant> rows;
  const bool gpu = !machine::gpus().devices.empty();
  for (const Variant& row : variants()) {
    if (row.missing != nullptr && !row.missing().empty()) continue;
    const bool takes = !is_complex<T> || row.c64 != nullptr;
    if (takes && (row.space == Space::host || gpu)) rows.push_back(row);
  }
  return rows;
}

/// Returns the number, without its imaginary part if T is real.
template <class T>
T scalar(double re, double im) {
  if constexpr (is_complex<T>) {
    return {static_cast<Real<T>>(re), static_cast<Real<T>>(im)};
  } else {
    return static_cast<T>(re);
  }
}

template <class T, class Make>
void check(const Variant& variant, Shape3 s, T alpha, T beta, const Make& make,
           const Tuning& tuning = {}) {
  for (const Op op_a : ops_of<T>()) {
    for (const Op op_b : ops_of<T>()) {
      SCOPED_TRACE(std::string(variant.name) + " " + text(s, op_a, op_b));
      const Matrix<T> a =
          stored<T>(s.m, s.k, op_a, [&](index_t r, index_t c) { return make(r, c, 1); });
      const Matrix<T> b =
          stored<T>(s.k, s.n, op_b, [&](index_t r, index_t c) { return make(r, c, 2); });
      const Matrix<T> c0 =
          beta == T{0} ? Matrix<T>::filled(s.m, s.n, not_a_number<T>()) : make(s.m, s.n, 3);
      Matrix<T> c = c0;
      const Gemm<T> g{alpha, a.view(), op_a, b.view(), op_b, beta, c.view()};
      machine::parallel(3, [&] { variant(g, tuning); });
      EXPECT_TRUE(is_product(g, c0));
      EXPECT_TRUE(c.sentinels_stand());
    }
  }
}

/// Returns the number of device rows outside of usable().
template <class T>
index_t devices_left_out() {
  const auto of_devices = [](const auto& rows) {
    return std::count_if(rows.begin(), rows.end(),
                         [](const Variant& row) { return row.space == Space::device; });
  };
  return of_devices(variants()) - of_devices(usable<T>());
}

template <class T>
class Variants : public ::testing::Test {};
using Types = ::testing::Types<float, double, Complex<float>, Complex<double>>;
TYPED_TEST_SUITE(Variants, Types);

TEST(DeviceVariants, AreAmongTheRowsTestedHere) {
  if (devices_left_out<double>() > 0)
    GTEST_SKIP() << devices_left_out<double>()
                 << " device variants are not run: " << machine::gpus().reason;
}

TEST(Blas, IsAmongTheRowsTestedHere) {
  const std::string& missing = find_variant(variants(), "blas")->missing();
  if (!missing.empty()) GTEST_SKIP() << "blas is not run: " << missing;
}

TYPED_TEST(Variants, MultiplyEveryShapeWithEveryOp) {
  for (const Variant& variant : usable<TypeParam>()) {
    for (const Shape3 s : shapes)
      check<TypeParam>(variant, s, TypeParam{1}, TypeParam{0}, Matrix<TypeParam>::random);
  }
}

TYPED_TEST(Variants, ScaleByAlphaAndBeta) {
  for (const Variant& variant : usable<TypeParam>()) {
    for (const Shape3 s :
         {Shape3{1, 1, 1}, Shape3{9, 25, 17}, Shape3{50, 70, 300}, Shape3{4, 6, 0}}) {
      for (const double beta : {0.0, 1.0, -0.75}) {
        for (const double alpha : {1.0, 0.5, 0.0}) {
          check<TypeParam>(variant, s, scalar<TypeParam>(alpha, 0), scalar<TypeParam>(beta, 0),
                           Matrix<TypeParam>::random);
        }
      }
    }
  }
}

TYPED_TEST(Variants, ScaleByComplexNumbers) {
  if (!is_complex<TypeParam>) return;
  const auto number = scalar<TypeParam>;
  for (const Variant& variant : usable<TypeParam>()) {
    for (const Shape3 s : {Shape3{9, 25, 17}, Shape3{13, 70, 520}}) {
      check<TypeParam>(variant, s, number(0.5, 0.25), number(-0.75, -1.5),
                       Matrix<TypeParam>::random);
      check<TypeParam>(variant, s, number(0, 2), number(0, -1), Matrix<TypeParam>::random);
      check<TypeParam>(variant, s, number(1, 0), number(0, 1), Matrix<TypeParam>::random);
      check<TypeParam>(variant, s, number(0, 1), number(0, 0), Matrix<TypeParam>::random);
    }
  }
}

TYPED_TEST(Variants, AreExactOnIntegersSoEqualBitForBit) {
  const Shape3 s{61, 75, 1030};
  const auto a = Matrix<TypeParam>::integers(s.m, s.k, 1);
  const auto b = Matrix<TypeParam>::integers(s.k, s.n, 2);
  Matrix<TypeParam> want = Matrix<TypeParam>::integers(s.m, s.n, 3);
  Matrix<TypeParam> start = want;
  Gemm<TypeParam> g{TypeParam{2}, a.view(),      Op::none,   b.view(),
                    Op::none,     TypeParam{-3}, want.view()};
  variants().front()(g);
  for (const Variant& variant : usable<TypeParam>()) {
    Matrix<TypeParam> got = start;
    g.c = got.view();
    variant(g);
    EXPECT_TRUE(same_bits(got, want)) << variant.name;
  }
}

TEST(StdComplex, IsMultiplied) {
  using Number = std::complex<double>;
  const std::vector<Number> a{{1, 2}, {0, 1}}, b{{3, 0}, {1, -1}};
  std::vector<Number> c{{1, 1}};
  best()(Gemm<Number>{.alpha = {0, 1},
                      .a = {a.data(), 1, 2, 2},
                      .b = {b.data(), 2, 1, 1},
                      .beta = {2, 0},
                      .c = {c.data(), 1, 1, 1}});
  EXPECT_EQ(c.front(), Number(-5, 6));  // i ((1+2i) 3 + i (1-i)) + 2 (1+i)
}

TYPED_TEST(Variants, TakeAnyTileAndColumnWidth) {
  for (const std::string_view which : {"tiled", "transposed_tiled", "column", "zigzag"}) {
    for (const index_t width : {1, 2, 7, 31, 1000}) {
      check<TypeParam>(*find_variant(variants(), which), {13, 31, 29}, TypeParam{1}, TypeParam{1},
                       Matrix<TypeParam>::random, {.tile = width, .column_width = width});
    }
  }
}

TYPED_TEST(Variants, OfTheDeviceMultiplyWhatItDoesNotHold) {
  if (machine::gpus().devices.empty()) GTEST_SKIP() << "not run: " << machine::gpus().reason;
  std::uint64_t drawn = 0;
  const auto draw = [&](index_t most) {
    return 1 + static_cast<index_t>(random_bits(11, 0, static_cast<index_t>(drawn++)) %
                                    static_cast<std::uint64_t>(most));
  };
  std::vector<Shape3> odd{{1, 1, 1}, {97, 101, 103}, {300, 20, 7}, {30, 30, 1000}, {20, 24, 0}};
  for (int more = 0; more < 4; ++more) odd.push_back({draw(250), draw(250), draw(400)});
  constexpr index_t wide = std::max<index_t>(1, sizeof(TypeParam) / sizeof(double));
  for (const Variant& variant : usable<TypeParam>()) {
    if (variant.space == Space::host) continue;
    for (const Shape3 s : odd) {
      for (const index_t memory : {wide * 30'000, wide * 150'000}) {
        const Tuning tuning{.device_memory = memory};
        check<TypeParam>(variant, s, TypeParam{1}, TypeParam{0}, Matrix<TypeParam>::random, tuning);
        check<TypeParam>(variant, s, TypeParam{-0.5}, TypeParam{2}, Matrix<TypeParam>::random,
                         tuning);
      }
    }
  }
}

TYPED_TEST(Variants, ReadNeitherOperandWhenAlphaIsZero) {
  const TypeParam nan = not_a_number<TypeParam>();
  const auto poison = Matrix<TypeParam>::filled(20, 20, nan);
  for (const Variant& variant : usable<TypeParam>()) {
    Matrix<TypeParam> c = Matrix<TypeParam>::random(20, 20, 5);
    const Matrix<TypeParam> c0 = c;
    variant(
        {TypeParam{0}, poison.view(), Op::none, poison.view(), Op::none, TypeParam{1}, c.view()});
    EXPECT_TRUE(same_bits(c, c0)) << variant.name;
  }
}

TYPED_TEST(Variants, CarryANanOfAnOperandToItsRowOnly) {
  Matrix<TypeParam> a = Matrix<TypeParam>::random(19, 40, 1);
  a.view()(11, 3) = not_a_number<TypeParam>();
  const auto b = Matrix<TypeParam>::random(40, 29, 2);
  for (const Variant& variant : usable<TypeParam>()) {
    Matrix<TypeParam> c(19, 29);
    variant({TypeParam{1}, a.view(), Op::none, b.view(), Op::none, TypeParam{0}, c.view()});
    for (index_t i = 0; i < 19; ++i) {
      for (index_t j = 0; j < 29; ++j) EXPECT_EQ(is_nan(c(i, j)), i == 11) << variant.name;
    }
  }
}

TEST(VariantTable, StartsWithTheReferenceAndNamesEachOnce) {
  EXPECT_EQ(variants().front().name, "naive");
  for (const Variant& variant : variants())
    EXPECT_EQ(find_variant(variants(), variant.name), &variant);
  EXPECT_EQ(best().name, "cache_oblivious");
}

}  // namespace
}  // namespace tessera::matmul
