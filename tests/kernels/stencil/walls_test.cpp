// Walls between a domain and adjacent cells without a value.

#include "kernels/stencil/walls.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/stencil/variants.hpp"
#include "oracle.hpp"

namespace tessera::stencil {
namespace {

/// Mask bytes of the oracle's field around a box; 77 beyond the sides.
class Outside {
 public:
  Outside(const Stencil& stencil, const Sides& sides, Index3 global, const Box3& box) : box_(box) {
    for (int d = 0; d < 3; ++d) {
      box_.low[d] -= stencil.radius[d];
      box_.high[d] += stencil.radius[d];
    }
    bytes_.assign(static_cast<std::size_t>(box_.volume()), 77);
    std::size_t at = 0;
    for (index_t z = box_.low[0]; z < box_.high[0]; ++z) {
      for (index_t y = box_.low[1]; y < box_.high[1]; ++y) {
        for (index_t x = box_.low[2]; x < box_.high[2]; ++x, ++at) {
          Index3 p{{z, y, x}};
          bool there = true;
          for (int d = 0; d < 3; ++d) {
            if (sides[static_cast<std::size_t>(d)][0].kind == Boundary::periodic)
              p[d] = oracle::outside_source(Boundary::periodic, p[d], global[d]);
            there = there && p[d] >= 0 && p[d] < global[d];
          }
          if (there) bytes_[at] = oracle::is_hidden(p) ? 1 : 0;
        }
      }
    }
  }

  [[nodiscard]] const Box3& box() const { return box_; }
  [[nodiscard]] GridView<std::uint8_t> view() { return grid_view(bytes_.data(), box_.size(), 3); }
  [[nodiscard]] GridView<const std::uint8_t> around(const Box3& box) {
    return view().box(
        {{box.low[0] - box_.low[0], box.low[1] - box_.low[1], box.low[2] - box_.low[2]}},
        box.size());
  }

 private:
  Box3 box_;
  std::vector<std::uint8_t> bytes_;
};

template <class T>
void expect_walls(const Stencil& stencil, const Sides& sides, Index3 global, const Box3& box) {
  Outside outside(stencil, sides, global, box);
  complete(sides, global, outside.box(), outside.view());
  std::vector<T> walls(static_cast<std::size_t>(box.volume()), T(-7));
  fill_walls<T>(stencil, outside.around(box), grid_view(walls.data(), box.size(), 3), 3);
  std::size_t at = 0;
  index_t wrong = 0;
  for (index_t z = box.low[0]; z < box.high[0]; ++z) {
    for (index_t y = box.low[1]; y < box.high[1]; ++y) {
      for (index_t x = box.low[2]; x < box.high[2]; ++x, ++at) {
        Index3 p{{z, y, x}};
        for (int d = 0; d < 3; ++d) {
          if (sides[static_cast<std::size_t>(d)][0].kind == Boundary::periodic)
            p[d] = oracle::outside_source(Boundary::periodic, p[d], global[d]);
        }
        const T want = oracle::wall_at<T>(stencil, sides, global, p);
        wrong += oracle::bits(walls[at]) == oracle::bits(want) ? 0 : 1;
      }
    }
  }
  EXPECT_EQ(wrong, 0) << stencil.name << " " << stencil.dims << "-D " << name(sides[2][1].kind);
}

TEST(Walls, AreTheWeightsOfNeighboursWithoutAValueBeyondEverySideToo) {
  for (const Boundary kind : boundaries) {
    const Sides sides = all_sides({kind, 2.5});
    for (const char* name : {"heat", "box5x5", "star4", "advection"}) {
      for (const Index3 n : {Index3{{1, 1, 1}}, Index3{{1, 2, 3}}, Index3{{1, 7, 23}}}) {
        expect_walls<double>(named_stencil(name, 2), sides, n, {{}, n});
        expect_walls<float>(named_stencil(name, 2), sides, n, {{}, n});
      }
    }
    expect_walls<double>(named_stencil("star2", 3), sides, {{5, 6, 7}}, {{}, {{5, 6, 7}}});
    expect_walls<double>(named_stencil("star3", 1), sides, {{1, 1, 40}}, {{}, {{1, 1, 40}}});
  }
}

TEST(Walls, OfAPartAreThoseOfTheWhole) {
  const Sides mixed{{{{{Boundary::mirror}, {Boundary::constant, 1}}},
                     {{{Boundary::clamp}, {Boundary::reflect}}},
                     {{{Boundary::periodic}, {Boundary::periodic}}}}};
  const Index3 n{{9, 11, 13}};
  expect_walls<double>(named_stencil("star2", 3), mixed, n, {{{0, 3, -3}}, {{5, 11, 6}}});
  expect_walls<float>(named_stencil("heat", 3), mixed, n, {{{4, 0, 7}}, {{9, 4, 17}}});
}

TEST(Walls, LetNothingThrough) {
  const Stencil heat = named_stencil("heat", 2);
  const Sides sides = all_sides({Boundary::periodic});
  const Index3 n{{1, 12, 15}};
  const Box3 box{{}, n};
  Outside outside(heat, sides, n, box);
  complete(sides, n, outside.box(), outside.view());
  std::vector<double> walls(static_cast<std::size_t>(n.volume()));
  fill_walls<double>(heat, outside.around(box), grid_view(walls.data(), n, 2), 1);
  Field<double> field = whole_field<double>(heat, n);
  auto sweep = whole_sweep(heat, sides, field, 40, 1);
  sweep.terms.field[static_cast<std::size_t>(Term::walls)] =
      grid_view<const double>(walls.data(), n, 2);
  double before = 0, after = 0;
  for (index_t y = 0; y < n[1]; ++y) {
    for (index_t x = 0; x < n[2]; ++x) {
      const bool hidden = oracle::is_hidden({{0, y, x}});
      before += sweep.level[0](y, x) = hidden ? 0 : oracle::initial<double>(heat, {{0, y, x}});
    }
  }
  run(variants().front(), sweep);
  for (index_t y = 0; y < n[1]; ++y) {
    for (index_t x = 0; x < n[2]; ++x) {
      after += sweep.level[0](y, x);
      if (oracle::is_hidden({{0, y, x}})) {
        EXPECT_EQ(sweep.level[0](y, x), 0);
      }
    }
  }
  EXPECT_NEAR(before, after, 1e-12);
}

}  // namespace
}  // namespace tessera::stencil
