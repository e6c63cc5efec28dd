#pragma once
// Independent stencil sweep for the tests: point by point, every neighbour looked up through the
// boundary.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/bfloat16.hpp"
#include "base/half.hpp"
#include "base/random.hpp"
#include "kernels/stencil/sweep.hpp"

namespace tessera::stencil::oracle {

template <class T>
struct Case {
  Stencil stencil;
  Sides sides;
  Index3 extent;
  index_t steps;
  TermSet terms = {};
  int field = 0;  ///< each has its own initial values
};

/// Returns the terms whose bits are set in `which`; default: all.
inline TermSet terms_of(int which) {
  return {{(which & 1) != 0, (which & 2) != 0, (which & 4) != 0, (which & 8) != 0}, -0.375};
}

/// Returns a term at a point of the field.
template <class T>
T term_at(Term term, Index3 p) {
  const index_t key = ((p[0] + 50) * 4096 + p[1] + 50) * 4096 + p[2] + 50;
  const T value = random_symmetric<T>(43, static_cast<std::uint64_t>(term), key);
  if (term == Term::mask)
    return value > T{0.375} ? T{1} : value > 0 ? T{-2} : value > T{-0.25} ? T{0} : -T{0};
  return term == Term::coefficients ? T{0.75} + value / 2 : value;
}

/// Returns the initial field: random in space (0 or 1 for life), also outside of it (for
/// Boundary::given).
template <class T>
T initial(const Stencil& stencil, Index3 p, int level = 0) {
  const index_t key = ((p[0] + 50) * 4096 + p[1] + 50) * 4096 + p[2] + 50;
  const auto value = random_symmetric<Arithmetic<T>>(42, static_cast<std::uint64_t>(level), key);
  return stencil.rule == Rule::life ? (value > 0 ? T(1) : T(0)) : static_cast<T>(value);
}

inline index_t outside_source(Boundary kind, index_t i, index_t n) {
  while (i < 0 || i >= n) {
    switch (kind) {
      case Boundary::clamp:
        i = i < 0 ? 0 : n - 1;
        break;
      case Boundary::periodic:
        i += i < 0 ? n : -n;
        break;
      case Boundary::reflect:
        i = i < 0 ? -1 - i : 2 * n - 1 - i;
        break;
      case Boundary::mirror:
        i = n == 1 ? 0 : i < 0 ? -i : 2 * n - 2 - i;
        break;
      case Boundary::constant:
      case Boundary::given:
        return i;
    }
  }
  return i;
}

/// Returns whether a point of the field is outside the domain.
inline bool is_hidden(Index3 p) {
  const index_t key = ((p[0] + 50) * 4096 + p[1] + 50) * 4096 + p[2] + 50;
  return random_symmetric<double>(44, 0, key) > 0.5;
}

/// Returns whether a point around the field repeats no cell of the domain.
inline bool is_hidden(const Sides& sides, Index3 extent, Index3 p) {
  for (int d = 0; d < 3; ++d) {
    const auto& both = sides[static_cast<std::size_t>(d)];
    if (p[d] < 0 || p[d] >= extent[d])
      p[d] = outside_source(both[p[d] < 0 ? 0 : 1].kind, p[d], extent[d]);
    if (p[d] < 0 || p[d] >= extent[d]) return false;
  }
  return is_hidden(p);
}

/// Returns the term `walls` at a point of the field.
template <class T>
T wall_at(const Stencil& stencil, const Sides& sides, Index3 extent, Index3 p) {
  if (is_hidden(p)) return std::numeric_limits<T>::quiet_NaN();
  double weights = 0;
  for (const Tap& tap : stencil.taps) {
    const Index3 o = tap.offset;
    if (is_hidden(sides, extent, {{p[0] + o[0], p[1] + o[1], p[2] + o[2]}})) weights += tap.weight;
  }
  return static_cast<T>(weights);
}

/// Returns any term at a point of the field.
template <class T>
T term_of(const Stencil& stencil, const Sides& sides, Index3 extent, Term term, Index3 p) {
  return term == Term::walls ? wall_at<T>(stencil, sides, extent, p) : term_at<T>(term, p);
}

template <class T>
class Grid {
  using A = Arithmetic<T>;

 public:
  explicit Grid(const Case<T>& c)
      : c_(c), now_(static_cast<std::size_t>(c.extent.volume())), past_(now_) {
    each([&](Index3 p) {
      now_[at(p)] = initial<T>(c.stencil, p, 2 * c.field);
      past_[at(p)] = initial<T>(c.stencil, p, 2 * c.field + 1);
      if (c.terms.has(Term::walls)) walls_.push_back(wall_at<A>(c.stencil, c.sides, c.extent, p));
    });
  }

  /// Overwrites an initial value.
  void set(Index3 p, T value) { now_[at(p)] = value; }

  void step() {
    std::vector<T> next(now_.size());
    each([&](Index3 p) { next[at(p)] = point(p); });
    past_ = now_;
    now_ = next;
  }
  T operator()(Index3 p) const { return now_[at(p)]; }
  T past(Index3 p) const { return past_[at(p)]; }

  template <class F>
  void each(const F& f) const {
    for (index_t z = 0; z < c_.extent[0]; ++z) {
      for (index_t y = 0; y < c_.extent[1]; ++y) {
        for (index_t x = 0; x < c_.extent[2]; ++x) f(Index3{{z, y, x}});
      }
    }
  }

 private:
  std::size_t at(Index3 p) const {
    return static_cast<std::size_t>((p[0] * c_.extent[1] + p[1]) * c_.extent[2] + p[2]);
  }

  T value(Index3 p) const {
    for (int d = 0; d < 3; ++d) {  // given values are periodic along periodic dimensions
      if (c_.sides[static_cast<std::size_t>(d)][0].kind == Boundary::periodic)
        p[d] = outside_source(Boundary::periodic, p[d], c_.extent[d]);
    }
    for (int d = 0; d < 3; ++d) {
      if (p[d] >= 0 && p[d] < c_.extent[d]) continue;
      const Side& side = c_.sides[static_cast<std::size_t>(d)][p[d] < 0 ? 0 : 1];
      if (side.kind == Boundary::constant) return static_cast<T>(side.value);
      if (side.kind == Boundary::given) return initial<T>(c_.stencil, p);
      p[d] = outside_source(side.kind, p[d], c_.extent[d]);
    }
    return now_[at(p)];
  }

  A near(Index3 p, Index3 o) const {
    return static_cast<A>(value({{p[0] + o[0], p[1] + o[1], p[2] + o[2]}}));
  }

  A doubled(const std::vector<A>& u) const {
    const A p2 = u[0] + u[1];
    if (u.size() == 3) return p2 + u[2];
    const A p4 = p2 + (u[2] + u[3]);
    if (u.size() == 5) return p4 + u[4];
    if (u.size() == 7) return (p4 + (u[4] + u[5])) + u[6];
    return (p4 + ((u[4] + u[5]) + (u[6] + u[7]))) + u[8];
  }

  T point(Index3 p) const {
    const Stencil& s = c_.stencil;
    return static_cast<T>(finished(p, s.form == Form::box ? box_sum(p) : chain_sum(p)));
  }

  /// Applies the terms and the rule to the sum over the taps.
  A finished(Index3 p, A sum) const {
    const Stencil& s = c_.stencil;
    const A u = static_cast<A>(now_[at(p)]);
    if (c_.terms.has(Term::walls)) {
      const A wall = walls_[at(p)];
      if (std::isnan(wall)) return u;
      sum = std::fma(wall, u, sum);
    }
    if (c_.terms.has(Term::coefficients)) {
      const A all = static_cast<A>(s.tap_sum());
      sum = std::fma(term_at<A>(Term::coefficients, p), std::fma(-all, u, sum), all * u);
    }
    if (s.previous != 0)
      sum = std::fma(static_cast<A>(s.previous), static_cast<A>(past_[at(p)]), sum);
    if (s.rule == Rule::life) sum = sum == 3 || sum == 11 || sum == 12 ? A{1} : A{0};
    if (c_.terms.has(Term::source))
      sum = std::fma(static_cast<A>(c_.terms.source_factor), term_at<A>(Term::source, p), sum);
    return c_.terms.has(Term::mask) && term_at<A>(Term::mask, p) == 0 ? u : sum;
  }

  A box_sum(Index3 p) const {
    const Stencil& s = c_.stencil;
    std::vector<A> columns;
    for (index_t x = -s.radius[2]; x <= s.radius[2]; ++x) {
      std::vector<A> column;
      for (index_t y = -s.radius[1]; y <= s.radius[1]; ++y) column.push_back(near(p, {{0, y, x}}));
      columns.push_back(doubled(column));
    }
    return doubled(columns) * static_cast<A>(s.taps[0].weight);
  }

  A chain_sum(Index3 p) const {
    const Stencil& s = c_.stencil;
    A sum = static_cast<A>(s.taps[0].weight) * near(p, s.taps[0].offset);
    for (std::size_t k = 1; k < s.taps.size(); ++k) {
      sum = std::fma(static_cast<A>(s.taps[k].weight), near(p, s.taps[k].offset), sum);
    }
    return sum;
  }

  Case<T> c_;
  std::vector<T> now_, past_;
  std::vector<A> walls_;  ///< empty without walls
};

/// Writes level 0 (and the level before it) of the box [origin, origin + extent) of a grid; ghost
/// layers and padding are NaN except those that a caller provides: exchanged sides and
/// Boundary::given.
template <class T>
void load(const Grid<T>& grid, const Sweep<T>& sweep, const Ghosts& ghosts, const Case<T>& c) {
  const Index3 n = sweep.extent();
  for (int level = 0; level < 2; ++level) {
    for (index_t z = -ghosts[0][0]; z < n[0] + ghosts[0][1]; ++z) {
      for (index_t y = -ghosts[1][0]; y < n[1] + ghosts[1][1]; ++y) {
        for (index_t x = -ghosts[2][0]; x < n[2] + ghosts[2][1]; ++x) {
          Index3 p{{z + sweep.origin[0], y + sweep.origin[1], x + sweep.origin[2]}};
          const Index3 local{{z, y, x}};
          bool given = false, outside = false;
          for (int d = 0; d < 3; ++d) {
            const int side = local[d] < 0 ? 0 : 1;
            if (local[d] >= 0 && local[d] < n[d]) continue;
            const Side& rule = c.sides[static_cast<std::size_t>(d)][static_cast<std::size_t>(side)];
            if (sweep.edge(d, side) != Edge::outer)
              p[d] = outside_source(Boundary::periodic, p[d], c.extent[d]);
            if (sweep.edge(d, side) == Edge::exchanged) continue;
            if (sweep.edge(d, side) == Edge::wrapped) {
              outside = true;
            } else if (rule.kind == Boundary::given) {
              given = true;
            } else {
              outside = true;
            }
          }
          T value = static_cast<T>(std::numeric_limits<Arithmetic<T>>::quiet_NaN());
          if (given) {
            value = level == 0 ? initial<T>(c.stencil, p) : value;
          } else if (!outside) {
            value = level == 0 ? grid(p) : c.stencil.two_levels() ? grid.past(p) : value;
          }
          sweep.level[level](local) = value;
        }
      }
    }
  }
}

/// Terms of a sweep: valid in its box and as far around it as it may read, NaN beyond.
template <class T>
class TermData {
 public:
  TermData(const Case<T>& c, const Sweep<T>& sweep) : factor_(c.terms.source_factor) {
    std::array<std::array<Edge, 2>, 3> edges{};
    for (int d = 0; d < 3; ++d) {
      for (int side = 0; side < 2; ++side)
        edges[static_cast<std::size_t>(d)][static_cast<std::size_t>(side)] = sweep.edge(d, side);
    }
    const Ghosts right = term_ghosts(c.stencil, sweep.steps, edges);
    const Index3 n = sweep.extent();
    for (const Term term : all_terms) {
      if (!c.terms.has(term)) continue;
      const Ghosts around{{{right[0][0], right[0][1]},
                           {right[1][0], right[1][1]},
                           {right[2][0] + 1, right[2][1] + 1}}};
      auto& field = storage_[static_cast<std::size_t>(term)] =
          Field<T>(c.stencil.dims, n, around, 1);
      const GridView<T> view = field.level(0);
      for (index_t z = -around[0][0]; z < n[0] + around[0][1]; ++z) {
        for (index_t y = -around[1][0]; y < n[1] + around[1][1]; ++y) {
          for (index_t x = -around[2][0]; x < n[2] + around[2][1]; ++x) {
            Index3 p{{z + sweep.origin[0], y + sweep.origin[1], x + sweep.origin[2]}};
            for (int d = 0; d < 3; ++d) {
              if (c.sides[static_cast<std::size_t>(d)][0].kind == Boundary::periodic)
                p[d] = outside_source(Boundary::periodic, p[d], c.extent[d]);
            }
            const bool inside = x >= -right[2][0] && x < n[2] + right[2][1];
            using A = Arithmetic<T>;
            view(z, y, x) =
                static_cast<T>(inside ? term_of<A>(c.stencil, c.sides, c.extent, term, p)
                                      : std::numeric_limits<A>::quiet_NaN());
          }
        }
      }
    }
  }

  [[nodiscard]] Terms<T> terms() {
    Terms<T> terms{{}, factor_};
    for (std::size_t i = 0; i < storage_.size(); ++i) {
      if (storage_[i].there()) terms.field[i] = storage_[i].level(0);
    }
    return terms;
  }

 private:
  double factor_;
  std::array<Field<T>, all_terms.size()> storage_;
};

inline std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }
inline std::uint64_t bits(Half x) { return x.bits; }
inline std::uint64_t bits(BFloat16 x) { return x.bits; }
inline std::uint64_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

}  // namespace tessera::stencil::oracle
