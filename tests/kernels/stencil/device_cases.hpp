#pragma once
// Device variants against the host's naive one, bit for bit; reported as skipped without a device.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "oracle.hpp"
#include "usable.hpp"

namespace tessera::stencil {

using oracle::Case;
using oracle::Grid;

inline constexpr double sentinel = 12345.5;

inline std::string describe(const Variant& v, const Stencil& s, const Sides& sides, Index3 n,
                            index_t steps) {
  std::string text = std::string(v.name) + " " + s.name + " " + std::to_string(s.dims) + "-D " +
                     std::to_string(n[0]) + "x" + std::to_string(n[1]) + "x" +
                     std::to_string(n[2]) + " steps " + std::to_string(steps);
  for (const auto& d : sides) {
    for (const Side& side : d) text += " " + std::string(name(side.kind));
  }
  return text;
}

inline std::vector<Variant> device_variants() {
  std::vector<Variant> rows;
  for (const Variant& row : usable_variants()) {
    if (row.space == Space::device) rows.push_back(row);
  }
  return rows;
}

template <class T>
class Device : public testing::Test {
 protected:
  void SetUp() override {
    if (device_variants().empty()) GTEST_SKIP() << "no device: " << machine::gpus().reason;
  }
};
using Types = testing::Types<float, double, Half>;

/// Problem with random level 0 (with two time levels also 1), ghosts NaN except given ones; padding
/// of rows and level 1 hold the sentinel.
template <class T>
struct Problem {
  Field<T> field;
  Sweep<T> sweep;
  Ghosts ghosts;

  explicit Problem(const Case<T>& c)
      : field(whole_field<T>(c.stencil, c.extent)),
        sweep(whole_sweep(c.stencil, c.sides, field, c.steps, 2)),
        ghosts(ghosts_for(c.stencil, 1, {})) {
    each_row([](T* row, index_t count) { std::fill_n(row, count, static_cast<T>(sentinel)); },
             sweep);
    oracle::load(Grid<T>(c), sweep, ghosts, c);
  }
  /// Copies another problem of this shape.
  void load(const Problem& from) {
    each_row([](T* row, const T* other, index_t count) { std::copy_n(other, count, row); }, sweep,
             from.sweep);
  }

 private:
  /// Calls f(first of a row in every sweep, count), including ghosts and padding, in both levels.
  template <class F, class... Sweeps>
  void each_row(const F& f, const Sweeps&... sweeps) {
    const Index3 n = sweep.extent();
    for (std::size_t l = 0; l < 2; ++l) {
      for (index_t z = -ghosts[0][0]; z < n[0] + ghosts[0][1]; ++z) {
        for (index_t y = -ghosts[1][0]; y < n[1] + ghosts[1][1]; ++y)
          f(&sweeps.level[l](z, y, -ghosts[2][0])..., sweep.level[l].stride[1]);
      }
    }
  }
};

/// Returns the number of points whose bits differ, in the result and between its rows.
template <class T>
index_t differences(const Problem<T>& want, const Problem<T>& got) {
  const Index3 n = want.sweep.extent();
  const int levels = want.sweep.stencil.two_levels() ? 2 : 1;
  index_t wrong = 0;
  for (int back = 0; back < levels; ++back) {
    const GridView<T>&a = want.sweep.level[(want.sweep.steps + back) % 2],
          &b = got.sweep.level[(want.sweep.steps + back) % 2];
    for (index_t z = 0; z < n[0]; ++z) {
      for (index_t y = 0; y < n[1]; ++y) {
        for (index_t x = 0; x < n[2]; ++x)
          wrong += oracle::bits(a(z, y, x)) != oracle::bits(b(z, y, x));
        const index_t radius = want.sweep.stencil.radius[2];
        for (index_t x = n[2] + radius; x < b.stride[1] - radius; ++x)
          wrong += oracle::bits(b(z, y, x)) != oracle::bits(static_cast<T>(sentinel));
      }
    }
  }
  return wrong;
}

template <class T>
void expect_host_bits(const Case<T>& c, const std::vector<Tuning>& tunings = {{}}) {
  const Problem<T> start(c);
  Problem<T> want(c), got(c);
  run(variants().front(), want.sweep);
  for (const Variant& variant : device_variants()) {
    for (const Tuning& tuning : tunings) {
      got.load(start);
      run(variant, got.sweep, tuning);
      EXPECT_EQ(differences(want, got), 0)
          << describe(variant, c.stencil, c.sides, c.extent, c.steps) << " base_steps "
          << tuning.base_steps << " march " << tuning.march << " block " << tuning.block
          << " column " << tuning.column << " memory " << tuning.device_memory;
    }
  }
}

inline Sides sides_of(Boundary kind) { return all_sides({kind, 0.75}); }

inline constexpr Boundary kinds[] = {Boundary::clamp,    Boundary::mirror,   Boundary::reflect,
                                     Boundary::periodic, Boundary::constant, Boundary::given};

/// Returns sides that differ, in every dimension.
inline std::vector<Sides> mixed_sides() {
  const Side clamp{Boundary::clamp}, mirror{Boundary::mirror}, reflect{Boundary::reflect},
      wrap{Boundary::periodic}, one{Boundary::constant, 1}, two{Boundary::constant, -2},
      given{Boundary::given};
  return {{{{clamp, mirror}, {reflect, one}, {wrap, wrap}}},
          {{{wrap, wrap}, {mirror, clamp}, {two, given}}},
          {{{given, one}, {wrap, wrap}, {mirror, reflect}}},
          {{{one, two}, {given, reflect}, {clamp, one}}},
          {{{reflect, given}, {one, mirror}, {given, clamp}}},
          {{{mirror, given}, {clamp, given}, {one, mirror}}}};
}

/// Single steps, and every length of passes over solids.
inline const std::vector<Tuning> solid_passes{
    {}, {.base_steps = 2}, {.base_steps = 3}, {.base_steps = 4}};

}  // namespace tessera::stencil
