// Every variant, on every instruction set of this machine, against the oracle: to the last bit.

#include "kernels/stencil/sweep.hpp"

#include <gtest/gtest.h>

#include "base/timer.hpp"
#include "kernels/stencil/variants.hpp"
#include "oracle.hpp"
#include "usable.hpp"

namespace tessera::stencil {
namespace {

using oracle::Case;
using oracle::Grid;

/// Returns small leaves, so that small fields are split often.
Tuning small_leaves(machine::Isa isa) {
  return {.tile_y = 3,
          .tile_x = 40,
          .column = 64,
          .base_steps = 2,
          .base_rows = 4,
          .base_long = 9,
          .base_x = 48,
          .march = 5,
          .isa = isa};
}

std::vector<machine::Isa> sets() {
  std::vector<machine::Isa> here;
  for (int i = 0; i <= static_cast<int>(machine::isa()); ++i)
    here.push_back(static_cast<machine::Isa>(i));
  return here;
}

std::string describe(const Stencil& s, const Sides& sides, Index3 n, index_t steps) {
  return s.name + " " + std::to_string(s.dims) + "-D " + std::to_string(n[0]) + "x" +
         std::to_string(n[1]) + "x" + std::to_string(n[2]) + " steps " + std::to_string(steps) +
         " " + std::string(name(sides[2][0].kind)) + "/" + std::string(name(sides[2][1].kind));
}

template <class T>
void expect_equal(const Grid<T>& want, const Sweep<T>& got, const std::string& what) {
  index_t wrong = 0;
  want.each([&](Index3 p) {
    for (int d = 0; d < 3; ++d) {
      p[d] -= got.origin[d];
      if (p[d] < 0 || p[d] >= got.extent()[d]) return;
    }
    const Index3 g{{p[0] + got.origin[0], p[1] + got.origin[1], p[2] + got.origin[2]}};
    if (oracle::bits(got.level[got.steps % 2](p)) == oracle::bits(want(g))) return;
    if (++wrong == 1) {
      ADD_FAILURE() << what << ": at " << p[0] << " " << p[1] << " " << p[2] << " got "
                    << static_cast<double>(got.level[got.steps % 2](p)) << " want "
                    << static_cast<double>(want(g));
    }
  });
  EXPECT_EQ(wrong, 0) << what;
}

constexpr double sentinel = 12345.5;

/// Calls f for the padding between the rows' ghost layers.
template <class T, class F>
void each_pad(const Sweep<T>& sweep, const Ghosts& ghosts, const F& f) {
  const Index3 n = sweep.extent();
  for (auto level : sweep.level) {
    for (index_t z = 0; z < n[0]; ++z) {
      for (index_t y = 0; y < n[1]; ++y) {
        for (index_t x = n[2] + ghosts[2][1]; x < level.stride[1] - ghosts[2][0]; ++x)
          f(level(z, y, x));
      }
    }
  }
}

template <class T>
void expect_all_variants_right(const Case<T>& c, const std::vector<machine::Isa>& isas) {
  Grid<T> start(c), want(c);
  for (index_t s = 0; s < c.steps; ++s) want.step();
  Field<T> field = whole_field<T>(c.stencil, c.extent);
  Sweep<T> sweep = whole_sweep(c.stencil, c.sides, field, c.steps, 3);
  oracle::TermData<T> terms(c, sweep);
  sweep.terms = terms.terms();
  const Ghosts ghosts = ghosts_for(c.stencil, 1, {});
  for (const Variant& variant : usable_variants<T>()) {
    if (c.terms.any() && variant.space == Space::device) continue;  // unsupported
    for (const machine::Isa isa : isas) {
      if (variant.space == Space::device && isa != isas.back())
        continue;  // independent of the
                   // host's set
      for (auto level : sweep.level) {
        const index_t first =
            -(ghosts[0][0] * level.stride[0] + ghosts[1][0] * level.stride[1] + ghosts[2][0]);
        std::fill(level.data + first, level.data + level.stride[0] * c.extent[0],
                  static_cast<T>(std::numeric_limits<Arithmetic<T>>::quiet_NaN()));
      }
      each_pad(sweep, ghosts, [](T& pad) { pad = static_cast<T>(sentinel); });
      oracle::load(start, sweep, ghosts, c);
      run(variant, sweep, small_leaves(isa));
      const std::string what = std::string(variant.name) + " " + std::string(machine::name(isa)) +
                               " " + describe(c.stencil, c.sides, c.extent, c.steps);
      expect_equal(want, sweep, what);
      index_t changed = 0;
      each_pad(sweep, ghosts, [&](const T& pad) {
        changed += oracle::bits(pad) != oracle::bits(static_cast<T>(sentinel)) ? 1 : 0;
      });
      EXPECT_EQ(changed, 0) << what;
    }
  }
}

Sides sides_of(Boundary kind) { return all_sides({kind, 0.75}); }

std::vector<Index3> shapes(int dims) {
  if (dims == 1) return {{{1, 1, 1}}, {{1, 1, 15}}, {{1, 1, 331}}};
  if (dims == 2) return {{{1, 1, 1}}, {{1, 5, 16}}, {{1, 37, 211}}};
  return {{{2, 1, 3}}, {{17, 23, 65}}};
}

TEST(DeviceVariants, AreAmongTheRowsTestedHere) {
  const std::size_t left_out = variants().size() - usable_variants().size();
  if (left_out > 0)
    GTEST_SKIP() << left_out << " device variants are not run: " << machine::gpus().reason;
}

template <class T>
class Sweeps : public testing::Test {};
using Types = testing::Types<float, double, Half, BFloat16>;
TYPED_TEST_SUITE(Sweeps, Types);
template <class T>
class SweepsWithTerms : public testing::Test {};
using TypesWithTerms = testing::Types<float, double>;
TYPED_TEST_SUITE(SweepsWithTerms, TypesWithTerms);

/// Returns the processor time of this thread, which other processes hardly change.
double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// A row of noise after some steps by a variant with its own tuning on one thread; `seconds`:
/// minimum of five runs.
struct Swept {
  Field<double> field;
  double seconds = 0;
};
Swept sweep_line(const char* variant, const Stencil& stencil, Boundary kind, index_t n,
                 index_t steps) {
  Swept result{whole_field<double>(stencil, {{1, 1, n}})};
  for (int turn = 0; turn < 5; ++turn) {
    for (index_t level = 0; level < 2; ++level)
      for (index_t x = 0; x < n; ++x)
        result.field.level(level)(0, 0, x) =
            random_symmetric<double>(7, static_cast<std::uint64_t>(level), x);
    const double begin = thread_seconds();
    run(*find_variant(variants(), variant),
        whole_sweep(stencil, sides_of(kind), result.field, steps, 1));
    const double took = thread_seconds() - begin;
    result.seconds = turn == 0 ? took : std::min(result.seconds, took);
  }
  return result;
}

TEST(Lines, LongerThanALeafAreRightAndBlockedInTimeAsFastAsSwept) {
  for (const char* name : {"heat", "star4", "wave"}) {
    for (const Boundary kind : {Boundary::clamp, Boundary::periodic}) {
      const Stencil stencil = named_stencil(name, 1);
      constexpr index_t n = 100'003, steps = 33;
      Swept blocked = sweep_line("cache_oblivious", stencil, kind, n, steps);
      Swept plain = sweep_line("streaming", stencil, kind, n, steps);
      index_t wrong = 0;
      for (index_t x = 0; x < n; ++x)
        wrong += blocked.field.level(steps)(0, 0, x) == plain.field.level(steps)(0, 0, x) ? 0 : 1;
      EXPECT_EQ(wrong, 0) << name;
      EXPECT_LT(blocked.seconds, 3 * plain.seconds)
          << name << ": in pieces of a few points it takes 13 times";
    }
  }
}

TYPED_TEST(Sweeps, EveryStencilInEveryShapeIsRight) {
  int turn = 0;
  for (const StencilInfo& info : stencil_infos()) {
    for (int dims = info.min_dims; dims <= info.max_dims; ++dims) {
      for (const Index3 shape : shapes(dims)) {
        const auto kind = boundaries[static_cast<std::size_t>(turn) % boundaries.size()];
        const index_t steps = shape.volume() > 5000 ? 5 : 7;
        // One set per case, in turn, so that every set meets every stencil; the next test runs all
        // sets on fewer cases.
        expect_all_variants_right<TypeParam>(
            {named_stencil(info.name, dims), sides_of(kind), shape, steps},
            {sets()[static_cast<std::size_t>(turn) % sets().size()]});
        ++turn;
      }
    }
  }
}

TYPED_TEST(Sweeps, EveryBoundaryOnEverySetIsRight) {
  for (const char* name : {"heat", "box5x5", "life", "wave"}) {
    for (const Boundary kind : boundaries) {
      expect_all_variants_right<TypeParam>(
          {named_stencil(name, 2), sides_of(kind), {{1, 19, 83}}, 6}, sets());
    }
  }
}

TYPED_TEST(Sweeps, EachSideMayHaveItsOwnBoundary) {
  const Side clamp{Boundary::clamp}, mirror{Boundary::mirror}, reflect{Boundary::reflect},
      wrap{Boundary::periodic}, one{Boundary::constant, 1}, two{Boundary::constant, -2},
      given{Boundary::given};
  const std::vector<Sides> all{
      {{{clamp, mirror}, {reflect, one}, {wrap, wrap}}},
      {{{wrap, wrap}, {mirror, clamp}, {two, given}}},
      {{{given, one}, {wrap, wrap}, {mirror, reflect}}},
      {{{one, two}, {given, reflect}, {clamp, one}}},
      {{{reflect, given}, {one, mirror}, {given, clamp}}},
  };
  std::vector<double> weights(27);
  for (std::size_t i = 0; i < 27; ++i)
    weights[i] = random_symmetric<double>(3, 0, static_cast<index_t>(i)) / 9;
  for (const Sides& sides : all) {
    const auto isa = machine::isa();
    expect_all_variants_right<TypeParam>(
        {make_stencil("dense", 3, {{3, 3, 3}}, weights), sides, {{11, 13, 70}}, 5}, {isa});
    expect_all_variants_right<TypeParam>({named_stencil("star2", 3), sides, {{12, 17, 70}}, 5},
                                         {isa});
  }
}

TYPED_TEST(Sweeps, ManyStepsOnANarrowFieldAreRight) {
  for (const Boundary kind : {Boundary::clamp, Boundary::periodic}) {
    expect_all_variants_right<TypeParam>(
        {named_stencil("heat", 1), sides_of(kind), {{1, 1, 600}}, 50}, {machine::isa()});
    expect_all_variants_right<TypeParam>(
        {named_stencil("heat", 2), sides_of(kind), {{1, 90, 130}}, 33}, {machine::isa()});
  }
}

TYPED_TEST(Sweeps, NoStepsAndNoPointsDoNothing) {
  expect_all_variants_right<TypeParam>({named_stencil("heat", 2), {}, {{1, 4, 5}}, 0}, sets());
  expect_all_variants_right<TypeParam>({named_stencil("heat", 2), {}, {{1, 0, 5}}, 3}, sets());
  expect_all_variants_right<TypeParam>({named_stencil("heat", 2), {}, {{1, 4, 0}}, 3}, sets());
}

/// Computes the boxes of a process grid with `deep` steps between exchanges, which are copies from
/// the oracle.
template <class T>
void expect_boxes_right(const Case<T>& c, Index3 grid, index_t deep) {
  Grid<T> want(c);
  for (index_t done = 0; done < c.steps; done += deep) {
    const Grid<T> before = want;
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
        for (int side = 0; side < 2; ++side) {
          edges[static_cast<std::size_t>(d)][static_cast<std::size_t>(side)] = sweep.edge(d, side);
        }
      }
      const Ghosts ghosts = ghosts_for(c.stencil, deep, edges);
      Field<T> field(c.stencil.dims, extent, ghosts);
      sweep.level[0] = field.level(0);
      sweep.level[1] = field.level(1);
      oracle::TermData<T> terms(c, sweep);
      sweep.terms = terms.terms();
      for (const Variant& variant : usable_variants<T>()) {
        if (c.terms.any() && variant.space == Space::device) continue;  // unsupported
        oracle::load(before, sweep, ghosts, c);
        run(variant, sweep, small_leaves(machine::isa()));
        expect_equal(want, sweep,
                     std::string(variant.name) + " box " + std::to_string(rank) + " " +
                         describe(c.stencil, c.sides, c.extent, deep));
      }
    }
  }
}

TYPED_TEST(Sweeps, BoxesWithDeepHalosGiveTheBitsOfTheWhole) {
  for (const Boundary kind : boundaries) {
    const Sides sides = sides_of(kind);
    expect_boxes_right<TypeParam>({named_stencil("heat", 2), sides, {{1, 41, 90}}, 8}, {{1, 2, 3}},
                                  4);
    expect_boxes_right<TypeParam>({named_stencil("wave", 2), sides, {{1, 30, 40}}, 3}, {{1, 3, 1}},
                                  3);
    expect_boxes_right<TypeParam>({named_stencil("star2", 3), sides, {{13, 16, 33}}, 2},
                                  {{2, 2, 2}}, 2);
  }
  expect_boxes_right<TypeParam>(
      {named_stencil("box7x7", 2), sides_of(Boundary::reflect), {{1, 41, 90}}, 4}, {{1, 1, 4}}, 2);
}

TYPED_TEST(SweepsWithTerms, TermsAreRightWithEveryStencilBoundaryAndSet) {
  int turn = 0;
  for (const char* name :
       {"heat", "box3x3", "box7x7", "wave", "laplace", "advection", "star3", "life"}) {
    for (int k = 0; k < 4; ++k, ++turn) {  // all sets of terms in four rounds of stencils
      const Stencil s = named_stencil(name, 2);
      const int known = s.rule == Rule::life ? 4 : 1 + turn % 15;
      const auto kind = boundaries[static_cast<std::size_t>(turn) % boundaries.size()];
      expect_all_variants_right<TypeParam>(
          {s, sides_of(kind), {{1, 18 + turn % 5, 83}}, 5, oracle::terms_of(known)},
          {sets()[static_cast<std::size_t>(turn) % sets().size()]});
    }
  }
}

TYPED_TEST(SweepsWithTerms, TermsAreRightInOneAndThreeDimensionsAndLongRows) {
  std::vector<double> weights(75);
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] = random_symmetric<double>(5, 0, static_cast<index_t>(i)) / 25;
  for (const int which : {3, 7, 8, 15}) {
    const TermSet terms = oracle::terms_of(which);
    const auto kind = boundaries[static_cast<std::size_t>(which) % boundaries.size()];
    expect_all_variants_right<TypeParam>(
        {named_stencil("star2", 1), sides_of(kind), {{1, 1, 2500}}, 9, terms}, sets());
    expect_all_variants_right<TypeParam>(
        {named_stencil("wave", 3), sides_of(kind), {{13, 11, 70}}, 5, terms}, sets());
    expect_all_variants_right<TypeParam>({make_stencil("dense", 3, {{3, 5, 5}}, weights, 0.25),
                                          sides_of(kind),
                                          {{7, 9, 40}},
                                          4,
                                          terms},
                                         sets());
    expect_all_variants_right<TypeParam>(
        {named_stencil("heat", 2), sides_of(kind), {{1, 6, 1300}}, 6, terms}, {machine::isa()});
  }
}

TYPED_TEST(SweepsWithTerms, BoxesReadTheirTermsAroundThem) {
  for (const Boundary kind : boundaries) {
    const Sides sides = sides_of(kind);
    const TermSet all = oracle::terms_of(15);
    expect_boxes_right<TypeParam>({named_stencil("heat", 2), sides, {{1, 41, 90}}, 8, all},
                                  {{1, 2, 3}}, 4);
    expect_boxes_right<TypeParam>({named_stencil("wave", 2), sides, {{1, 30, 40}}, 3, all},
                                  {{1, 3, 1}}, 3);
    expect_boxes_right<TypeParam>({named_stencil("star2", 3), sides, {{13, 16, 33}}, 2, all},
                                  {{2, 2, 2}}, 2);
  }
}

template <class T>
void expect_terms_refused() {
  const Case<T> c{named_stencil("heat", 2), {}, {{1, 6, 7}}, 2, oracle::terms_of(4)};
  Field<T> field = whole_field<T>(c.stencil, c.extent);
  Sweep<T> sweep = whole_sweep(c.stencil, c.sides, field, c.steps, 1);
  oracle::TermData<T> terms(c, sweep);
  sweep.terms = terms.terms();
  try {
    run(variants().front(), sweep);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find(name_of_half<T>), 0U) << error.what();
  }
}
TEST(Terms, AreRefusedForHalves) {
  expect_terms_refused<Half>();
  expect_terms_refused<BFloat16>();
}

TEST(Terms, ThatLifeHasNoUseForAreRefused) {
  const Stencil life = named_stencil("life", 2);
  EXPECT_NO_THROW(check_terms(life, oracle::terms_of(4)));
  EXPECT_THROW(check_terms(life, oracle::terms_of(1)), Error);
  EXPECT_THROW(check_terms(life, oracle::terms_of(6)), Error);
  EXPECT_THROW(check_terms(life, oracle::terms_of(8)), Error);
  EXPECT_NO_THROW(check_terms(named_stencil("wave", 2), oracle::terms_of(15)));
}

}  // namespace
}  // namespace tessera::stencil
