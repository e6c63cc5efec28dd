// Vector operations on every instruction set of this machine, against plain loops.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/simd/operations.hpp"
#include "machine/isa.hpp"

namespace tessera {
namespace {

using machine::Isa;

class EveryIsa : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (!machine::supports(GetParam())) GTEST_SKIP() << "this machine has no wider vectors";
  }
  [[nodiscard]] const simd_test::Operations& operations() const {
    return TESSERA_OF_ISA(GetParam(), simd_operations);
  }
};
INSTANTIATE_TEST_SUITE_P(Simd, EveryIsa, testing::Values(Isa::baseline, Isa::bits256, Isa::bits512),
                         [](const auto& its) {
                           return its.param == Isa::baseline  ? std::string("Baseline")
                                  : its.param == Isa::bits256 ? std::string("Bits256")
                                                              : std::string("Bits512");
                         });

/// Returns first, first + 1, ...
template <class T>
std::vector<T> counted(index_t n, int first = 1) {
  std::vector<T> v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<T>(first + static_cast<int>(i));
  return v;
}
template <class T>
std::vector<T> joined(std::vector<T> a, const std::vector<T>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

template <class T>
void expect_tails(const simd_test::Numbers<T>& its) {
  const index_t lanes = its.lanes;
  const auto from = counted<T>(lanes);
  for (index_t first = 0; first <= lanes; ++first) {
    std::vector<T> all(static_cast<std::size_t>(lanes), T{-1});
    its.load_first(from.data(), first, all.data());
    for (index_t i = 0; i < lanes; ++i)
      EXPECT_EQ(all[static_cast<std::size_t>(i)], i < first ? static_cast<T>(i + 1) : T{0});
    for (index_t last = first; last <= lanes; ++last) {
      std::vector<T> to(static_cast<std::size_t>(lanes + 2), T{-7});  // a sentinel on either side
      its.store_between(to.data() + 1, from.data(), first, last);
      for (index_t i = -1; i <= lanes; ++i)
        EXPECT_EQ(to[static_cast<std::size_t>(i + 1)],
                  i >= first && i < last ? static_cast<T>(i + 1) : T{-7})
            << first << " to " << last << " at " << i;
    }
  }
}
TEST_P(EveryIsa, TouchesNothingBesideATail) {
  expect_tails(operations().f32);
  expect_tails(operations().f64);
}

/// (The address sanitizer guards the end of the list.)
TEST_P(EveryIsa, ReadsNothingBesideAListOfBytes) {
  const auto& its = operations().words;
  const index_t bytes = 8 * its.lanes;
  std::vector<std::byte> from(static_cast<std::size_t>(bytes));
  for (index_t i = 0; i < bytes; ++i)
    from[static_cast<std::size_t>(i)] = static_cast<std::byte>(i + 1);
  for (index_t n = 0; n < bytes; ++n) {
    std::vector<std::byte> some(from.begin(), from.begin() + n);
    std::vector<std::uint64_t> all(static_cast<std::size_t>(its.lanes), 1);
    its.load_bytes(some.data(), n, all.data());
    std::vector<std::byte> want(static_cast<std::size_t>(bytes));
    std::memcpy(want.data(), some.data(), static_cast<std::size_t>(n));
    EXPECT_EQ(std::memcmp(all.data(), want.data(), want.size()), 0) << n;
  }
}

/// Expects that fma rounds once, and mul_add once or twice, the same in every lane.
template <class T>
void expect_arithmetic(const simd_test::Numbers<T>& its) {
  const auto lanes = static_cast<std::size_t>(its.lanes);
  // (1 + d)(1 - d) is 1 - d^2, which rounds to 1 as a separate product.
  std::vector<T> a(lanes), b(lanes), c(lanes), got(lanes);
  for (std::size_t i = 0; i < lanes; ++i) {
    const T d = std::numeric_limits<T>::epsilon() * static_cast<T>(i + 1);
    a[i] = 1 + d;
    b[i] = 1 - d;
    c[i] = -1;
  }
  its.fma(a.data(), b.data(), c.data(), got.data());
  for (std::size_t i = 0; i < lanes; ++i) EXPECT_EQ(got[i], std::fma(a[i], b[i], c[i]));
  its.mul_add(a.data(), b.data(), c.data(), got.data());
  const bool fuses = got[0] != 0;
  for (std::size_t i = 0; i < lanes; ++i)
    EXPECT_EQ(got[i], fuses ? std::fma(a[i], b[i], c[i]) : T{0});
  for (T& x : c) x = 1;
  its.neg_mul_add(a.data(), b.data(), c.data(), got.data());
  for (std::size_t i = 0; i < lanes; ++i)
    EXPECT_EQ(got[i], fuses ? std::fma(-a[i], b[i], c[i]) : T{0});
  for (const T x : {T{0}, -T{0}, T{3}, std::numeric_limits<T>::infinity()}) {
    its.broadcast(x, got.data());
    for (const T lane : got) EXPECT_EQ(std::memcmp(&lane, &x, sizeof x), 0) << x;
  }
}
TEST_P(EveryIsa, FusesWhereItSaysSo) {
  expect_arithmetic(operations().f32);
  expect_arithmetic(operations().f64);
}

template <class T>
void expect_streamed(const simd_test::Numbers<T>& its) {
  alignas(64) T to[3 * 64 / sizeof(T)];
  for (T& x : to) x = T{-7};
  const auto all = counted<T>(its.lanes);
  its.stream(to + 64 / sizeof(T), all.data());
  for (index_t i = 0; i < static_cast<index_t>(std::size(to)); ++i) {
    const index_t lane = i - 64 / static_cast<index_t>(sizeof(T));
    EXPECT_EQ(to[i], lane >= 0 && lane < its.lanes ? static_cast<T>(lane + 1) : T{-7});
  }
}
TEST_P(EveryIsa, StreamsOneVector) {
  expect_streamed(operations().f32);
  expect_streamed(operations().f64);
}

template <class T>
void expect_shuffles(const simd_test::Lanes<T>& its) {
  const auto n = static_cast<std::size_t>(its.lanes);
  const auto a = counted<T>(its.lanes), b = counted<T>(its.lanes, static_cast<int>(n) + 1);
  const auto both = joined(a, b);
  std::vector<T> x(n), y(n);
  its.interleave(a.data(), b.data(), x.data(), y.data());
  const auto interleaved = joined(x, y);
  its.evens_and_odds(a.data(), b.data(), x.data(), y.data());
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_EQ(interleaved[2 * i], a[i]);
    EXPECT_EQ(interleaved[2 * i + 1], b[i]);
    EXPECT_EQ(x[i], both[2 * i]);
    EXPECT_EQ(y[i], both[2 * i + 1]);
  }
  its.exchange(a.data(), x.data(), y.data());
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_EQ(x[i], a[i ^ 1]);
    EXPECT_EQ(y[i], a[n - 1 - i]);
  }
  its.shift(a.data(), b.data(), x.data(), y.data());
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_EQ(x[i], both[i + 1]);
    EXPECT_EQ(y[i], both[i + n - 1]);
  }
  for (std::size_t bytes = 0; bytes <= n * sizeof(T); bytes += 4) {
    its.shift_bytes(a.data(), b.data(), static_cast<index_t>(bytes), x.data());
    EXPECT_EQ(std::memcmp(x.data(), reinterpret_cast<const std::byte*>(both.data()) + bytes,
                          n * sizeof(T)),
              0)
        << bytes;
  }
  its.smaller_and_larger(a.data(), b.data(), x.data(), y.data());
  EXPECT_EQ(x, a);
  EXPECT_EQ(y, b);
  its.smaller_and_larger(b.data(), a.data(), x.data(), y.data());
  EXPECT_EQ(x, a);
  EXPECT_EQ(y, b);
}
TEST_P(EveryIsa, ShufflesLanes) {
  expect_shuffles(operations().u8);
  expect_shuffles(operations().u16);
  expect_shuffles(operations().u32);
  expect_shuffles(operations().u64);
  expect_shuffles(operations().lanes_f64);
}

template <class T>
void expect_transposes(const simd_test::Lanes<T>& its) {
  const auto n = static_cast<std::size_t>(its.lanes);
  const auto value = [](std::size_t row, std::size_t col) {
    return static_cast<T>(row * 67 + col);
  };
  std::vector<T> square(n * n);
  for (std::size_t i = 0; i < n * n; ++i) square[i] = value(i / n, i % n);
  its.transpose_square(square.data());
  for (std::size_t i = 0; i < n * n; ++i) EXPECT_EQ(square[i], value(i % n, i / n)) << i;
  std::vector<T> rows(4 * n), columns(4 * n);
  for (std::size_t i = 0; i < 4 * n; ++i) rows[i] = value(i / n, i % n);
  its.interleave_rows(rows.data(), columns.data());
  for (std::size_t i = 0; i < 4 * n; ++i) EXPECT_EQ(columns[i], value(i % 4, i / 4)) << i;
}
TEST_P(EveryIsa, TransposesRegisters) {
  expect_transposes(operations().u8);
  expect_transposes(operations().u16);
  expect_transposes(operations().u32);
  expect_transposes(operations().u64);
  expect_transposes(operations().lanes_f64);
}

bool same_bits(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0; }

/// All halves, and floats around each of them; a NaN's payload may gain its quiet bit.
template <class S>
void expect_conversions(const simd_test::Halves<S>& its) {
  const auto lanes = static_cast<std::size_t>(its.lanes);
  std::vector<S> halves(lanes), narrowed(lanes);
  std::vector<float> wide(lanes), beside(lanes);
  for (std::uint32_t first = 0; first < 0x10000; first += static_cast<std::uint32_t>(lanes)) {
    for (std::size_t i = 0; i < lanes; ++i)
      halves[i].bits = static_cast<std::uint16_t>(first + static_cast<std::uint32_t>(i));
    its.widen(halves.data(), wide.data());
    for (std::size_t i = 0; i < lanes; ++i) {
      const auto want = static_cast<float>(halves[i]);
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(wide[i]) && std::isnan(its.widen_one(halves[i])));
      } else {
        EXPECT_TRUE(same_bits(wide[i], want) && same_bits(its.widen_one(halves[i]), want));
      }
    }
    for (const float factor : {1.0F, 0.99992F, 1.00012F, 1.000244140625F, 1.00048828125F,
                               1.00390625F, 1.01171875F, 0.99853515625F}) {
      for (std::size_t i = 0; i < lanes; ++i) beside[i] = wide[i] * factor;
      its.narrow(beside.data(), narrowed.data());
      for (std::size_t i = 0; i < lanes; ++i) {
        EXPECT_EQ(narrowed[i].bits, S(beside[i]).bits) << beside[i];
        EXPECT_EQ(its.narrow_one(beside[i]).bits, S(beside[i]).bits) << beside[i];
      }
    }
  }
}
TEST_P(EveryIsa, ConvertsHalvesAsOneByOne) {
  expect_conversions(operations().halves);
  expect_conversions(operations().bfloats);
}

template <class S>
void expect_some_halves(const simd_test::Halves<S>& its) {
  const auto all = counted<float>(its.lanes);
  for (index_t first = 0; first <= its.lanes; ++first) {
    for (index_t last = first; last <= its.lanes; ++last) {
      std::vector<S> to(static_cast<std::size_t>(its.lanes + 2), S(-7.0F));
      its.store_between(to.data() + 1, all.data(), first, last);
      for (index_t i = -1; i <= its.lanes; ++i)
        EXPECT_EQ(static_cast<float>(to[static_cast<std::size_t>(i + 1)]),
                  i >= first && i < last ? static_cast<float>(i + 1) : -7.0F);
    }
    const std::vector<S> from(static_cast<std::size_t>(first), S(-7.0F));
    std::vector<float> loaded(static_cast<std::size_t>(its.lanes));
    its.load_first(from.data(), first, loaded.data());
    for (index_t i = 0; i < its.lanes; ++i)
      EXPECT_EQ(loaded[static_cast<std::size_t>(i)], i < first ? -7.0F : 0.0F);
  }
}
TEST_P(EveryIsa, LoadsAndStoresSomeHalves) {
  expect_some_halves(operations().halves);
  expect_some_halves(operations().bfloats);
}

TEST_P(EveryIsa, ReducesWords) {
  const auto& its = operations().words;
  const auto n = static_cast<std::size_t>(its.lanes);
  std::vector<std::uint64_t> a(n), b(n), got(n);
  for (std::size_t i = 0; i < n; ++i) {
    a[i] = 0x9e3779b97f4a7c15ULL * (i + 1);  // some of them "negative"
    b[i] = i % 3 == 0 ? a[i] : i % 3 == 1 ? a[i] + 1 : a[i] - 1;
  }
  its.mul_low_halves(a.data(), b.data(), got.data());
  std::uint64_t sum = 0, least = a[0];
  unsigned less = 0, equal = 0;
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_EQ(got[i], (a[i] & 0xffffffff) * (b[i] & 0xffffffff));
    sum += a[i];
    least = std::min(least, a[i]);
    less |= (a[i] < b[i] ? 1U : 0U) << i;
    equal |= (a[i] == b[i] ? 1U : 0U) << i;
  }
  EXPECT_EQ(its.sum(a.data()), sum);
  EXPECT_EQ(its.least(a.data()), least);
  EXPECT_EQ(its.less_bits(a.data(), b.data()), less);
  EXPECT_EQ(its.equal_bits(a.data(), b.data()), equal);
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<std::uint64_t> one(n);
    EXPECT_FALSE(its.any(one.data()));
    one[i] = std::uint64_t{1} << (63 - i);
    EXPECT_TRUE(its.any(one.data())) << i;
  }
}

}  // namespace
}  // namespace tessera
