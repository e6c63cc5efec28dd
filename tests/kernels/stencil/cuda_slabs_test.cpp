// Fields larger than the permitted device memory, and boxes with deep halos.

#include "device_cases.hpp"
#include "kernels/stencil/slabs.hpp"

namespace tessera::stencil {
namespace {

template <class T>
using DeviceParts = Device<T>;
TYPED_TEST_SUITE(DeviceParts, Types);

/// Returns fractions of the memory that the sweep needs at once.
template <class T>
std::vector<Tuning> shares_of_memory(const Sweep<T>& sweep) {
  std::vector<Tuning> tunings;
  const index_t whole = plan_slabs(sweep, index_t{1} << 40, 1)->device_bytes;
  for (const index_t percent : {80, 45, 25}) {
    tunings.push_back({.device_memory = whole * percent / 100});
    EXPECT_TRUE(plan_slabs(sweep, tunings.back().device_memory, 1).has_value());
  }
  return tunings;
}

TYPED_TEST(DeviceParts, LargerFieldsThanItsMemoryHaveTheHostsBits) {
  std::size_t turn = 0;  // one share per case
  const auto expect = [&](const Case<TypeParam>& c) {
    expect_host_bits<TypeParam>(c, {shares_of_memory(Problem<TypeParam>(c).sweep).at(turn++ % 3)});
  };
  for (const Boundary kind : kinds) {
    for (const index_t steps : {1, 2, 13}) {
      expect({named_stencil("heat", 2), sides_of(kind), {{1, 401, 333}}, steps});
      expect({named_stencil("wave", 2), sides_of(kind), {{1, 402, 150}}, steps});
      expect({named_stencil("heat", 3), sides_of(kind), {{150, 23, 70}}, steps});
    }
    expect({named_stencil("wave", 3), sides_of(kind), {{150, 12, 33}}, 4});
    expect({named_stencil("box7x7", 2), sides_of(kind), {{1, 500, 200}}, 7});
    expect({named_stencil("star2", 3), sides_of(kind), {{190, 20, 40}}, 6});
    expect({named_stencil("advection", 1), sides_of(kind), {{1, 1, 100000}}, 9});
    expect({named_stencil("heat", 3), sides_of(kind), {{3, 600, 50}}, 5});
  }
  for (const Sides& sides : mixed_sides()) {
    expect({named_stencil("heat", 2), sides, {{1, 401, 333}}, 11});
    expect({named_stencil("heat", 3), sides, {{140, 33, 40}}, 7});
    expect({named_stencil("wave", 3), sides, {{140, 13, 40}}, 3});
  }
}

/// Slabs of several chunks, with rows in both directions at once.
TYPED_TEST(DeviceParts, SlabsOfManyChunksHaveTheHostsBits) {
  const Case<TypeParam> c{
      named_stencil("heat", 2), sides_of(Boundary::periodic), {{1, 6007, 3001}}, 12};
  expect_host_bits<TypeParam>(c, {{.device_memory = index_t{60} << 20}});
  expect_host_bits<TypeParam>(
      {named_stencil("wave", 3), sides_of(Boundary::mirror), {{300, 200, 211}}, 5},
      {{.device_memory = index_t{60} << 20}});
}

/// Computes the boxes of a process grid with `deep` steps between two exchanges, which are copies
/// from the oracle; at once or in slabs.
enum class Through { at_once, slabs };
template <class T>
void expect_boxes_right(const Case<T>& c, Index3 grid, index_t deep,
                        Through through = Through::at_once, const Tuning& asked = {}) {
  const Grid<T> before(c);
  Grid<T> want = before;
  for (index_t s = 0; s < deep; ++s) want.step();
  for (index_t rank = 0; rank < grid.volume(); ++rank) {
    const Index3 at{{rank / (grid[1] * grid[2]), rank / grid[2] % grid[1], rank % grid[2]}};
    Index3 origin, extent;
    for (int d = 0; d < 3; ++d) {
      origin[d] = c.extent[d] * at[d] / grid[d];
      extent[d] = c.extent[d] * (at[d] + 1) / grid[d] - origin[d];
    }
    Sweep<T> sweep{c.stencil, c.sides, c.extent, origin, {{nullptr, extent}, {nullptr, extent}},
                   deep,      2};
    std::array<std::array<Edge, 2>, 3> edges{};
    for (int d = 0; d < 3; ++d) {
      for (int side = 0; side < 2; ++side)
        edges[static_cast<std::size_t>(d)][static_cast<std::size_t>(side)] = sweep.edge(d, side);
    }
    const Ghosts ghosts = ghosts_for(c.stencil, deep, edges);
    Field<T> field(c.stencil.dims, extent, ghosts);
    sweep.level[0] = field.level(0);
    sweep.level[1] = field.level(1);
    sweep.level[0].dims = sweep.level[1].dims = c.stencil.dims;
    const Tuning tuning = through == Through::slabs ? shares_of_memory(sweep).back() : asked;
    for (const Variant& variant : device_variants()) {
      oracle::load(before, sweep, ghosts, c);
      run(variant, sweep, tuning);
      index_t wrong = 0;
      const GridView<T>& got = sweep.level[deep % 2];
      for (index_t z = 0; z < extent[0]; ++z) {
        for (index_t y = 0; y < extent[1]; ++y) {
          for (index_t x = 0; x < extent[2]; ++x) {
            const Index3 p{{z + origin[0], y + origin[1], x + origin[2]}};
            wrong += oracle::bits(got(z, y, x)) != oracle::bits(want(p));
          }
        }
      }
      EXPECT_EQ(wrong, 0) << describe(variant, c.stencil, c.sides, extent, deep) << " box " << rank;
    }
  }
}

TYPED_TEST(DeviceParts, BoxesWithDeepHalosHaveTheBitsOfTheWhole) {
  std::vector<Sides> all = mixed_sides();
  for (const Boundary kind : kinds) all.push_back(sides_of(kind));
  for (const Sides& sides : all) {
    expect_boxes_right<TypeParam>({named_stencil("heat", 2), sides, {{1, 61, 190}}, 0}, {{1, 2, 3}},
                                  9);
    expect_boxes_right<TypeParam>({named_stencil("wave", 2), sides, {{1, 30, 40}}, 0}, {{1, 3, 1}},
                                  3);
    for (const Tuning& passes : solid_passes)
      expect_boxes_right<TypeParam>({named_stencil("heat", 3), sides, {{23, 66, 70}}, 0},
                                    {{2, 2, 2}}, 5, Through::at_once, passes);
    expect_boxes_right<TypeParam>({named_stencil("star2", 3), sides, {{13, 16, 33}}, 0},
                                  {{2, 2, 2}}, 2);
    expect_boxes_right<TypeParam>({named_stencil("box7x7", 2), sides, {{1, 41, 90}}, 0},
                                  {{1, 1, 4}}, 2);
  }
}

TYPED_TEST(DeviceParts, BoxesWithDeepHalosGoThroughInSlabs) {
  for (const Sides& sides : mixed_sides()) {
    expect_boxes_right<TypeParam>({named_stencil("heat", 2), sides, {{1, 601, 190}}, 0},
                                  {{1, 2, 3}}, 9, Through::slabs);
    expect_boxes_right<TypeParam>({named_stencil("wave", 2), sides, {{1, 1200, 40}}, 0},
                                  {{1, 3, 1}}, 3, Through::slabs);
    expect_boxes_right<TypeParam>({named_stencil("heat", 3), sides, {{240, 26, 30}}, 0},
                                  {{2, 2, 2}}, 5, Through::slabs);
  }
}

}  // namespace
}  // namespace tessera::stencil
