// Verification of sweeps: recomputed points, conserved sums, and hashes of fields.

#include "kernels/stencil/verify.hpp"

#include <atomic>
#include <cmath>
#include <vector>

#include "kernels/stencil/engine.hpp"
#include "kernels/stencil/hash_rows.hpp"
#include "kernels/stencil/walls.hpp"

namespace tessera::inline v1::stencil {
namespace {

Index3 plus(Index3 a, Index3 b) { return {{a[0] + b[0], a[1] + b[1], a[2] + b[2]}}; }

/// The values of one level on which a point depends some steps later: a box, clipped to the field
/// in dimensions that are not periodic; periodic ones are unrolled.
template <class T>
class Cone {
 public:
  Cone(const Stencil& stencil, const Sides& sides, Index3 global, const Box3& box,
       const Initial<T>& initial)
      : stencil_(stencil), sides_(sides), global_(global), box_(box), initial_(initial) {
    values_.resize(static_cast<std::size_t>(box.size().volume()));
  }

  T& operator[](Index3 p) {
    const Index3 size = box_.size();
    return values_[static_cast<std::size_t>(
        ((p[0] - box_.low[0]) * size[1] + p[1] - box_.low[1]) * size[2] + p[2] - box_.low[2])];
  }

  /// Returns the value at p, which may be outside the field.
  T outside(Index3 p) {
    return value_at(
        sides_, global_, p, [&](Index3 q) { return (*this)[q]; },
        [&](Index3 q) { return initial_(wrapped(q)); });
  }

  T value_after_step(Index3 p, T past, const PointTerms<Arithmetic<T>>& terms) {
    using A = Arithmetic<T>;
    return static_cast<T>(point_value<A>(
        stencil_, [&](Index3 offset) { return static_cast<A>(outside(plus(p, offset))); },
        static_cast<A>(past), terms));
  }

  /// Returns p with the unrolled dimensions wrapped to the field.
  [[nodiscard]] Index3 wrapped(Index3 p) const {
    for (int d = 0; d < 3; ++d) {
      if (sides_[static_cast<std::size_t>(d)][0].kind == Boundary::periodic) {
        p[d] = source_index(Boundary::periodic, p[d], global_[d]);
      }
    }
    return p;
  }

 private:
  const Stencil& stencil_;
  const Sides& sides_;
  Index3 global_;
  Box3 box_;
  const Initial<T>& initial_;
  std::vector<T> values_;
};

template <class F>
void each_point(const Box3& box, const F& f) {
  for (index_t z = box.low[0]; z < box.high[0]; ++z) {
    for (index_t y = box.low[1]; y < box.high[1]; ++y) {
      for (index_t x = box.low[2]; x < box.high[2]; ++x) f(Index3{{z, y, x}});
    }
  }
}

/// Returns the points on which `point` depends `steps` steps earlier.
Box3 dependencies(const Stencil& stencil, const Sides& sides, Index3 global, Index3 point,
                  index_t steps) {
  Box3 box;
  for (int d = 0; d < 3; ++d) {
    const index_t reach = stencil.radius[d] * steps;
    const bool periodic = sides[static_cast<std::size_t>(d)][0].kind == Boundary::periodic;
    box.low[d] = periodic ? point[d] - reach : std::max<index_t>(point[d] - reach, 0);
    box.high[d] = 1 + (periodic ? point[d] + reach : std::min(point[d] + reach, global[d] - 1));
  }
  return box;
}

/// The terms of a box of points; the walls are recomputed from the cells outside the domain.
template <class T>
class TermsOf {
  using A = Arithmetic<T>;

 public:
  TermsOf(const Cone<T>& cone, const Stencil& stencil, const Sides& sides, Index3 global,
          const Box3& box, const TermsAt<T>& terms)
      : box_(box) {
    if (!terms) return;
    each_point(box, [&](Index3 p) {
      PointTerms<A> here = terms(cone.wrapped(p));
      const auto is_outside = [&](Index3 neighbour) {
        const Origin origin = origin_of(sides, global, neighbour);
        return origin.fixed == nullptr && std::isnan(*terms(cone.wrapped(origin.p)).walls);
      };
      if (here.walls && !std::isnan(*here.walls)) {
        double weights = 0;
        for (const Tap& tap : stencil.taps)
          weights += is_outside(plus(p, tap.offset)) ? tap.weight : 0.0;
        here.walls = static_cast<A>(weights);
      }
      all_.push_back(here);
    });
  }
  [[nodiscard]] PointTerms<A> operator[](Index3 p) const {
    if (all_.empty()) return {};
    const Index3 size = box_.size();
    const index_t at =
        ((p[0] - box_.low[0]) * size[1] + p[1] - box_.low[1]) * size[2] + p[2] - box_.low[2];
    return all_[static_cast<std::size_t>(at)];
  }

 private:
  Box3 box_;
  std::vector<PointTerms<A>> all_;
};

Sum pairwise(const double* values, index_t n) {
  if (n <= 8) {
    Sum s;
    for (index_t i = 0; i < n; ++i) {
      s.value += values[i];
      s.magnitude += std::abs(values[i]);
    }
    return s;
  }
  const Sum a = pairwise(values, n / 2), b = pairwise(values + n / 2, n - n / 2);
  return {a.value + b.value, a.magnitude + b.magnitude};
}

}  // namespace

template <class T>
T recompute(const Stencil& stencil, const Sides& sides, Index3 global, Index3 point, index_t steps,
            const Initial<T>& initial, const Initial<T>& past, const TermsAt<T>& terms) {
  const Box3 all = dependencies(stencil, sides, global, point, steps);
  Cone<T> level[2]{{stencil, sides, global, all, initial}, {stencil, sides, global, all, initial}};
  each_point(all, [&](Index3 p) {
    level[0][p] = initial(level[0].wrapped(p));
    if (stencil.two_levels()) level[1][p] = past(level[0].wrapped(p));
  });
  if (steps == 0) return level[0][point];
  const TermsOf<T> term_sums(level[0], stencil, sides, global,
                             dependencies(stencil, sides, global, point, steps - 1), terms);
  for (index_t step = 0; step < steps; ++step) {
    Cone<T>& now = level[step % 2];
    Cone<T>& next = level[(step + 1) % 2];
    each_point(dependencies(stencil, sides, global, point, steps - step - 1),
               [&](Index3 p) { next[p] = now.value_after_step(p, next[p], term_sums[p]); });
  }
  return level[steps % 2][point];
}

template <class T>
Sum sum(const GridView<const T>& u) {
  std::vector<double> row(static_cast<std::size_t>(u.extent[2]));
  std::vector<double> sums, magnitudes;
  for (index_t z = 0; z < u.extent[0]; ++z) {
    for (index_t y = 0; y < u.extent[1]; ++y) {
      for (index_t x = 0; x < u.extent[2]; ++x)
        row[static_cast<std::size_t>(x)] = static_cast<double>(u(z, y, x));
      const Sum s = pairwise(row.data(), u.extent[2]);
      sums.push_back(s.value);
      magnitudes.push_back(s.magnitude);
    }
  }
  const auto rows = static_cast<index_t>(sums.size());
  return {pairwise(sums.data(), rows).value, pairwise(magnitudes.data(), rows).value};
}

bool conserves(const Stencil& stencil, const Sides& sides) {
  if (stencil.rule != Rule::linear || stencil.two_levels()) return false;
  for (std::size_t d = 3 - static_cast<std::size_t>(stencil.dims); d < 3; ++d) {
    if (sides[d][0].kind != Boundary::periodic) return false;
  }
  return std::abs(stencil.weight_sum() - 1) <= 1e-12;
}

template <class T>
std::uint64_t field_hash(const GridView<const T>& u, Index3 origin, Index3 global, int threads) {
  const auto row_hash = hash_row<T>(machine::isa());
  std::atomic<std::uint64_t> total{0};
  machine::parallel(threads, [&] {
    machine::parallel_for(0, u.extent[0] * u.extent[1], 64, [&](index_t begin, index_t end) {
      std::uint64_t part = 0;
      for (index_t i = begin; i < end; ++i) {
        const index_t z = i / u.extent[1], y = i % u.extent[1];
        const index_t first = ((z + origin[0]) * global[1] + y + origin[1]) * global[2] + origin[2];
        part += row_hash(u.row(z, y), u.extent[2], static_cast<std::uint64_t>(first));
      }
      total += part;
    });
  });
  return total;
}

#define TESSERA_INSTANTIATE(T)                                                                   \
  template T recompute(const Stencil&, const Sides&, Index3, Index3, index_t, const Initial<T>&, \
                       const Initial<T>&, const TermsAt<T>&);                                    \
  template Sum sum(const GridView<const T>&);                                                    \
  template std::uint64_t field_hash(const GridView<const T>&, Index3, Index3, int);
TESSERA_INSTANTIATE(Half)
TESSERA_INSTANTIATE(BFloat16)
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
#undef TESSERA_INSTANTIATE

}  // namespace tessera::inline v1::stencil
