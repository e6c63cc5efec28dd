#include "kernels/stencil/verify.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numbers>

#include "base/hash.hpp"
#include "kernels/stencil/hash_rows.hpp"
#include "kernels/stencil/variants.hpp"
#include "oracle.hpp"
#include "usable.hpp"

namespace tessera::stencil {
namespace {

template <class T>
class Verify : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Verify, Types);

TYPED_TEST(Verify, RecomputedPointsAreThoseOfTheSweep) {
  using T = TypeParam;
  for (const StencilInfo& info : stencil_infos()) {
    for (const Boundary kind : boundaries) {
      const int dims = info.max_dims;
      const Stencil s = named_stencil(info.name, dims);
      const oracle::Case<T> c{
          s, all_sides({kind, 0.25}), dims == 2 ? Index3{{1, 13, 17}} : Index3{{6, 7, 9}}, 3,
          oracle::terms_of(s.rule == Rule::life ? 4 : 2 * static_cast<int>(kind) + 5)};
      oracle::Grid<T> want(c);
      for (index_t step = 0; step < c.steps; ++step) want.step();
      const Initial<T> initial = [&](Index3 p) { return oracle::initial<T>(s, p); };
      const Initial<T> past = [&](Index3 p) { return oracle::initial<T>(s, p, 1); };
      const auto term = [&](Term which, Index3 p) -> std::optional<T> {
        if (!c.terms.has(which)) return {};
        return oracle::term_of<T>(s, c.sides, c.extent, which, p);
      };
      const TermsAt<T> terms = [&](Index3 p) -> PointTerms<T> {
        return {term(Term::coefficients, p), term(Term::source, p), term(Term::mask, p),
                term(Term::walls, p), static_cast<T>(c.terms.source_factor)};
      };
      for (const Index3 p : {Index3{}, Index3{{c.extent[0] - 1, c.extent[1] - 1, c.extent[2] - 1}},
                             Index3{{c.extent[0] / 2, 5, 1}}, Index3{{0, 2, 8}}}) {
        const T got = recompute<T>(s, c.sides, c.extent, p, c.steps, initial, past, terms);
        EXPECT_EQ(oracle::bits(got), oracle::bits(want(p))) << info.name << " " << name(kind);
      }
    }
  }
}

TEST(Sum, OfAConservingSweepStays) {
  const Stencil heat = named_stencil("heat", 2);
  const Sides wrap = all_sides({Boundary::periodic}), clamp = all_sides({Boundary::clamp});
  EXPECT_TRUE(conserves(heat, wrap));
  EXPECT_FALSE(conserves(heat, clamp));
  EXPECT_FALSE(conserves(named_stencil("wave", 2), wrap));
  EXPECT_FALSE(conserves(named_stencil("life", 2), wrap));
  Field<double> field = whole_field<double>(heat, {{1, 40, 50}});
  const auto sweep = whole_sweep(heat, wrap, field, 20, 1);
  for (index_t y = 0; y < 40; ++y) {
    for (index_t x = 0; x < 50; ++x)
      sweep.level[0](y, x) = random_symmetric<double>(1, 0, y * 50 + x);
  }
  const Sum before = sum<double>(sweep.level[0]);
  run(best(sweep), sweep);
  const Sum after = sum<double>(sweep.level[0]);
  EXPECT_NEAR(before.value, after.value, 20 * 2.3e-16 * before.magnitude);
  EXPECT_LT(after.magnitude, before.magnitude);
}

TEST(FieldHash, IsTheSameForAnyDistributionAndSet) {
  Field<double> field(3, {{5, 6, 37}}, {});
  const auto u = field.level(0);
  std::uint64_t want = 0;
  for (index_t z = 0; z < 5; ++z) {
    for (index_t y = 0; y < 6; ++y) {
      for (index_t x = 0; x < 37; ++x) {
        const index_t i = (z * 6 + y) * 37 + x;
        u(z, y, x) = random_symmetric<double>(1, 0, i);
        want += hash_at(std::bit_cast<std::uint64_t>(u(z, y, x)), static_cast<std::uint64_t>(i));
      }
    }
  }
  EXPECT_EQ(field_hash<double>(u, {}, u.extent), want);
  EXPECT_EQ(field_hash<double>(u, {}, u.extent, 3), want);
  std::uint64_t parts = 0;
  for (const index_t x : {0, 11}) {
    for (const index_t z : {0, 2}) {
      const Index3 from{{z, 0, x}}, size{{z == 0 ? 2 : 3, 6, x == 0 ? 11 : 26}};
      parts += field_hash<double>(u.box(from, size), from, u.extent);
    }
  }
  EXPECT_EQ(parts, want);
  for (int isa = 0; isa <= static_cast<int>(machine::isa()); ++isa) {
    EXPECT_EQ(hash_row<double>(static_cast<machine::Isa>(isa))(u.row(1, 2), 37, 5),
              hash_row<double>(machine::Isa::baseline)(u.row(1, 2), 37, 5));
  }
  u(1, 1, 1) = std::nextafter(u(1, 1, 1), 2.0);
  EXPECT_NE(field_hash<double>(u, {}, u.extent), want);
}

TEST(Sweeps, EveryVariantAndDepthAndTeamGivesOneHash) {
  constexpr index_t steps = 12;
  for (const StencilInfo& info : stencil_infos()) {
    const Stencil s = named_stencil(info.name, 2);
    std::uint64_t want = 0;
    for (const Variant& variant : usable_variants()) {
      for (const index_t deep : {1, 3, 4, 12}) {
        for (const int threads : {1, 2}) {
          Field<float> field = whole_field<float>(s, {{1, 61, 150}});
          auto sweep = whole_sweep(s, all_sides({Boundary::mirror}), field, deep, threads);
          for (index_t y = 0; y < 61; ++y) {
            for (index_t x = 0; x < 150; ++x) {
              sweep.level[0](y, x) = oracle::initial<float>(s, {{0, y, x}});
              sweep.level[1](y, x) = oracle::initial<float>(s, {{0, y, x}}, 1);
            }
          }
          for (index_t done = 0; done < steps; done += deep) {
            run(variant, sweep);
            if (deep % 2 == 1) std::swap(sweep.level[0], sweep.level[1]);
          }
          const std::uint64_t hash = field_hash<float>(sweep.level[0], {}, sweep.global, threads);
          if (want == 0) want = hash;
          EXPECT_EQ(hash, want) << info.name << " " << variant.name << " " << deep;
        }
      }
    }
  }
}

TEST(Sweeps, PeriodicEigenmodeDecaysByItsEigenvalue) {
  constexpr index_t n = 48, steps = 30;
  const Stencil heat = named_stencil("heat", 2);
  const double kx = 2 * std::numbers::pi * 3 / n, ky = 2 * std::numbers::pi * 5 / n;
  const double lambda = 0.5 + 0.25 * std::cos(kx) + 0.25 * std::cos(ky);
  for (const Variant& variant : usable_variants()) {
    Field<double> field = whole_field<double>(heat, {{1, n, n}});
    const auto sweep = whole_sweep(heat, all_sides({Boundary::periodic}), field, steps, 2);
    const auto mode = [&](index_t y, index_t x) {
      return std::cos(kx * static_cast<double>(x) + ky * static_cast<double>(y));
    };
    for (index_t y = 0; y < n; ++y) {
      for (index_t x = 0; x < n; ++x) sweep.level[0](y, x) = mode(y, x);
    }
    run(variant, sweep);
    for (index_t y = 0; y < n; ++y) {
      for (index_t x = 0; x < n; ++x) {
        ASSERT_NEAR(sweep.level[0](y, x), std::pow(lambda, steps) * mode(y, x), 1e-14)
            << variant.name;
      }
    }
  }
}

TEST(Sweeps, IntegerImpulseGivesBinomials) {
  const double weights[] = {1, 2,
                            1};  // (1 + x)^2 a step: binomial coefficients of 2 * steps, exact
  const Stencil s = make_stencil("binomial", 1, {{1, 1, 3}}, weights);
  constexpr index_t steps = 20, n = 101, middle = 50;
  for (const Variant& variant : usable_variants()) {
    Field<double> field = whole_field<double>(s, {{1, 1, n}});
    const auto sweep = whole_sweep(s, all_sides({Boundary::constant, 0}), field, steps, 2);
    for (index_t x = 0; x < n; ++x) sweep.level[0](x) = x == middle ? 1 : 0;
    run(variant, sweep);
    double binomial = 1;
    for (index_t k = 0; k <= 2 * steps; ++k) {
      EXPECT_EQ(sweep.level[0](middle - steps + k), binomial) << variant.name;
      binomial = binomial * static_cast<double>(2 * steps - k) / static_cast<double>(k + 1);
    }
    EXPECT_EQ(sweep.level[0](middle - steps - 1), 0);
  }
}

}  // namespace
}  // namespace tessera::stencil
