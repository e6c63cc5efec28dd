#include "kernels/stencil/stencil.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "kernels/stencil/boundary.hpp"
#include "kernels/stencil/remap.hpp"
#include "kernels/stencil/sweep.hpp"
#include "kernels/stencil/variants.hpp"

namespace tessera::stencil {
namespace {

TEST(MakeStencil, DropsZeroWeightsAndKeepsTheOrder) {
  const double weights[] = {0, 1, 0, 2, 3, 4, 0, 5, 0};
  const Stencil s = make_stencil("s", 2, {{1, 3, 3}}, weights);
  ASSERT_EQ(s.taps.size(), 5u);
  EXPECT_EQ(s.taps[0].offset, (Index3{{0, -1, 0}}));
  EXPECT_EQ(s.taps[1].offset, (Index3{{0, 0, -1}}));
  EXPECT_EQ(s.taps[4].weight, 5);
  EXPECT_EQ(s.radius, (Index3{{0, 1, 1}}));
  EXPECT_TRUE(s.is_full_star());
  EXPECT_EQ(s.form, Form::chain);
}

TEST(MakeStencil, RadiusIsThatOfTheWeightsNotOfTheirBox) {
  std::vector<double> weights(49, 0.0);
  weights[24] = 1;
  weights[25] = 2;
  const Stencil s = make_stencil("s", 2, {{1, 7, 7}}, weights);
  EXPECT_EQ(s.radius, (Index3{{0, 0, 1}}));
}

TEST(MakeStencil, EvenBoxIsCentredAsInScipy) {
  const double weights[] = {1, 2};
  const Stencil s = make_stencil("s", 1, {{1, 1, 2}}, weights);
  EXPECT_EQ(s.taps[0].offset[2], -1);
  EXPECT_EQ(s.taps[1].offset[2], 0);
}

TEST(MakeStencil, RefusesWhatIsNoStencil) {
  const std::vector<double> zeros(9, 0.0), ones(9, 1.0);
  const double bad[] = {1, std::numeric_limits<double>::infinity(), 1};
  EXPECT_THROW((void)make_stencil("s", 2, {{1, 3, 3}}, zeros), Error);
  EXPECT_THROW((void)make_stencil("s", 2, {{1, 3, 2}}, ones), Error);
  EXPECT_THROW((void)make_stencil("s", 1, {{1, 3, 3}}, ones), Error);
  EXPECT_THROW((void)make_stencil("s", 4, {{1, 3, 3}}, ones), Error);
  EXPECT_THROW((void)make_stencil("s", 1, {{1, 1, 3}}, bad), Error);
}

TEST(NamedStencil, EachHasAllItsDimensionsAndItsSum) {
  for (const StencilInfo& info : stencil_infos()) {
    for (int dims = info.min_dims; dims <= info.max_dims; ++dims) {
      const Stencil s = named_stencil(info.name, dims);
      EXPECT_EQ(s.dims, dims);
      if (s.rule == Rule::linear && !s.two_levels()) {
        EXPECT_NEAR(s.weight_sum(), 1, 1e-14) << info.name;
      }
      for (int d = 3 - dims; d < 3; ++d) EXPECT_GE(s.radius[d], 1) << info.name;
    }
  }
  EXPECT_EQ(named_stencil("box5x5", 2).form, Form::box);
  EXPECT_TRUE(named_stencil("star3", 3).is_full_star());
  EXPECT_FALSE(named_stencil("advection", 2).is_full_star());
}

TEST(NamedStencil, UnknownNameSaysTheNearest) {
  try {
    (void)named_stencil("haet", 2);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("heat"), std::string::npos);
  }
  EXPECT_THROW((void)named_stencil("box3x3", 3), Error);
  for (const Boundary kind : boundaries) EXPECT_EQ(parse_boundary(name(kind)), kind);
  EXPECT_THROW((void)parse_boundary("mirrored"), Error);
}

TEST(SourceIndex, IsThatOfScipy) {
  const auto of = [](Boundary kind, index_t n) {
    std::vector<index_t> sources;
    for (index_t i = -4; i < n + 4; ++i) sources.push_back(source_index(kind, i, n));
    return sources;
  };
  using V = std::vector<index_t>;
  EXPECT_EQ(of(Boundary::clamp, 3), (V{0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2}));
  EXPECT_EQ(of(Boundary::mirror, 3), (V{0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2}));
  EXPECT_EQ(of(Boundary::reflect, 3), (V{2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0}));
  EXPECT_EQ(of(Boundary::periodic, 3), (V{2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0}));
  EXPECT_EQ(of(Boundary::mirror, 1), (V{0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(Remap, ColumnsVisitEveryPointOnce) {
  for (const auto& [width, w, h] :
       {std::tuple<index_t, index_t, index_t>{4, 10, 3}, {32, 7, 5}, {5, 5, 1}, {1, 3, 4}}) {
    std::set<std::pair<index_t, index_t>> straight, zigzag;
    for (index_t i = 0; i < w * h; ++i) {
      const Place a = column_place(i, width, w, h), b = zigzag_place(i, width, w, h);
      ASSERT_TRUE(a.x >= 0 && a.x < w && a.y >= 0 && a.y < h);
      straight.insert({a.x, a.y});
      zigzag.insert({b.x, b.y});
      EXPECT_EQ(a.y, b.y);
    }
    EXPECT_EQ(static_cast<index_t>(straight.size()), w * h);
    EXPECT_EQ(zigzag, straight);
  }
}

TEST(Remap, ZigzagTurnsWhereItEnds) {
  EXPECT_EQ(zigzag_place(3, 4, 8, 2).x, 3);
  EXPECT_EQ(zigzag_place(4, 4, 8, 2).x, 3);  // second row, reversed
  EXPECT_EQ(zigzag_place(8, 4, 8, 2).x, 4);  // second column
}

TEST(Field, RowsBeginAtLinesAndStridesAvoidPages) {
  for (const index_t n : {1, 15, 16, 17, 512, 1000, 1024}) {
    Field<float> field(2, {{1, 3, n}}, {{{0, 0}, {2, 2}, {2, 2}}});
    for (const index_t step : {0, 1}) {
      const auto u = field.level(step);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(u.row(0, 0)) % 64, 0u);
      EXPECT_EQ(u.stride[1] % 16, 0);
      EXPECT_NE(u.stride[1] * 4 % 4096, 0);
      EXPECT_GE(u.stride[1], n + 4);
    }
  }
}

TEST(Variants, AreFoundByNameAndNaiveIsFirst) {
  EXPECT_EQ(variants()[0].name, "naive");
  for (const Variant& v : variants()) EXPECT_EQ(find_variant(variants(), v.name), &v);
}

TEST(Best, SweepsPlainlyWhereNothingIsToGain) {
  const Stencil heat = named_stencil("heat", 2);
  Field<double> small = whole_field<double>(heat, {{1, 64, 64}});
  EXPECT_EQ(best(whole_sweep(heat, {}, small, 100, 1)).name, "streaming");
  EXPECT_EQ(best(Sweep<double>{
                     heat, {}, {{1, 8192, 8192}}, {}, {{nullptr, {{1, 8192, 8192}}}, {}}, 96, 2})
                .name,
            "cache_oblivious");
  EXPECT_EQ(
      best(Sweep<double>{heat, {}, {{1, 8192, 8192}}, {}, {{nullptr, {{1, 8192, 8192}}}, {}}, 1, 2})
          .name,
      "streaming");
  const Index3 last_cache{
      {1, 2000, 1000}};  // 32 MB: exceeds one thread's second level on any machine
  EXPECT_EQ(best(Sweep<double>{heat, {}, last_cache, {}, {{nullptr, last_cache}, {}}, 50, 1}).name,
            "cache_oblivious");
}

TEST(TapSum, IsWholeWhereTheWeightsMeanIt) {
  EXPECT_EQ(named_stencil("box7x7", 2).tap_sum(), 1);
  EXPECT_EQ(named_stencil("wave", 3).tap_sum(), 2);
  const double weights[] = {0.1, 0.2, 0.125};
  EXPECT_EQ(make_stencil("w", 1, {{1, 1, 3}}, weights, -1).tap_sum(), 0.1 + 0.2 + 0.125);
}

}  // namespace
}  // namespace tessera::stencil
