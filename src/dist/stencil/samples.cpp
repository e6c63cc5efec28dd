// Verification of a sweep by recomputing sample points.

#include "dist/stencil/samples.hpp"

#include <algorithm>
#include <cmath>

#include "base/random.hpp"
#include "kernels/stencil/verify.hpp"
#include "mpi/heartbeat.hpp"

namespace tessera::inline v1::dist::stencil {
namespace {

constexpr index_t random_samples = 6;

index_t wrapped(index_t i, index_t n) { return ((i % n) + n) % n; }

template <class F>
void each_point(const Box3& box, const F& f) {
  for (index_t z = box.low[0]; z < box.high[0]; ++z) {
    for (index_t y = box.low[1]; y < box.high[1]; ++y) {
      for (index_t x = box.low[2]; x < box.high[2]; ++x) f(Index3{{z, y, x}});
    }
  }
}

bool holds(const Box3& box, Index3 p) {
  for (int d = 0; d < 3; ++d) {
    if (p[d] < box.low[d] || p[d] >= box.high[d]) return false;
  }
  return true;
}

/// Returns the rank's box and its part of the frame of given values.
Box3 owned(const Scheme& scheme, const Box3& box) {
  Box3 all = box;
  const Box3 outer = scheme.with_frame();
  for (int d = 0; d < 3; ++d) {
    if (box.low[d] == 0) all.low[d] = outer.low[d];
    if (box.high[d] == scheme.global[d]) all.high[d] = outer.high[d];
  }
  return all;
}

/// Calls f(part) for the parts of the rank's box, in local indices, that a box with unrolled
/// periodic dimensions covers.
template <class F>
void each_covered(const Scheme& scheme, const Box3& unrolled, const Box3& own, const F& f) {
  std::array<std::vector<std::pair<index_t, index_t>>, 3> ranges;
  for (int d = 0; d < 3; ++d) {
    const index_t n = scheme.global[d];
    const bool periodic = scheme.periodic()[static_cast<std::size_t>(d)];
    index_t turn = periodic ? unrolled.low[d] - wrapped(unrolled.low[d], n) : 0;
    for (; turn < unrolled.high[d]; turn += n) {
      const index_t low = std::max(unrolled.low[d] - turn, own.low[d]),
                    high = std::min(unrolled.high[d] - turn, own.high[d]);
      if (low < high)
        ranges[static_cast<std::size_t>(d)].emplace_back(low - own.low[d], high - own.low[d]);
      if (!periodic) break;
    }
  }
  for (const auto& z : ranges[0]) {
    for (const auto& y : ranges[1]) {
      for (const auto& x : ranges[2])
        f(Box3{{{z.first, y.first, x.first}}, {{z.second, y.second, x.second}}});
    }
  }
}

constexpr double most_terms = 2e6;  // of a sample: some 10 ms

index_t sample_steps(const Stencil& stencil, index_t most, double affordable) {
  const auto cost = [&](index_t steps) {
    double points = 1;
    for (int d = 0; d < 3; ++d) points *= static_cast<double>(2 * stencil.radius[d] * steps + 1);
    return points * static_cast<double>(steps) * static_cast<double>(stencil.taps.size()) /
           (1 + stencil.dims);
  };
  index_t steps = 1;
  while (steps < most && cost(steps + 1) <= affordable) ++steps;
  return std::min(steps, most);
}

}  // namespace

index_t sample_steps(const Stencil& stencil, index_t most) {
  return sample_steps(stencil, most, most_terms);
}

index_t sample_steps(const Scheme& scheme, index_t steps, index_t most) {
  // Recomputes up to 32 samples; a term by plain code takes as long as 50 of a sweep.
  constexpr double share = 0.03 / (32 * 50), least_terms = 5e4;
  double terms = static_cast<double>(steps) * static_cast<double>(scheme.stencil.taps.size());
  for (int d = 0; d < 3; ++d) terms *= static_cast<double>(scheme.global[d]);
  return sample_steps(scheme.stencil, most, std::clamp(share * terms, least_terms, most_terms));
}

template <class T>
Samples<T>::Samples(const mpi::Communicator& comm, const DistributedField<T>& u, index_t steps,
                    std::uint64_t seed, index_t field)
    : comm_(comm), scheme_(u.scheme()), steps_(steps), field_(field) {
  for (const Index3 point : choose(u.grid(), seed)) {
    samples_.push_back({point, dependencies(point), {}, {}, {}});
    gather(u, samples_.back());
  }
}

template <class T>
std::vector<Index3> Samples<T>::choose(const layout::GridLayout& grid, std::uint64_t seed) const {
  std::vector<Index3> points;
  const Index3 n = scheme_.global;
  if (n.volume() == 0) return points;
  const auto add = [&](Index3 p) {
    if (std::find(points.begin(), points.end(), p) == points.end()) points.push_back(p);
  };
  add({{0, 0, 0}});
  add({{n[0] - 1, n[1] - 1, n[2] - 1}});
  add({{n[0] - 1, 0, n[2] / 2}});
  const Box3 middle = grid.of(grid.active() / 2);  // where most ranks meet
  add(middle.low);
  add({{std::max<index_t>(middle.low[0] - 1, 0), middle.low[1], middle.high[2] - 1}});
  for (index_t i = 0; i < random_samples; ++i) {
    Index3 p;
    for (int d = 0; d < 3; ++d)
      p[d] =
          static_cast<index_t>(random_bits(seed, 77, 3 * i + d) % static_cast<std::uint64_t>(n[d]));
    add(p);
  }
  return points;
}

template <class T>
Box3 Samples<T>::dependencies(Index3 point) const {
  Box3 box;
  const Box3 outer = scheme_.with_frame();
  const auto periodic = scheme_.periodic();
  for (int d = 0; d < 3; ++d) {
    const index_t reach = scheme_.stencil.radius[d] * steps_;
    const bool unrolled = periodic[static_cast<std::size_t>(d)];
    box.low[d] = unrolled ? point[d] - reach : std::max(point[d] - reach, outer.low[d]);
    box.high[d] = unrolled ? point[d] + reach + 1 : std::min(point[d] + reach + 1, outer.high[d]);
  }
  return box;
}

/// Every value has one owner; the others add zero.
template <class T>
void Samples<T>::gather(const DistributedField<T>& u, Sample& sample) const {
  const auto periodic = scheme_.periodic();
  const Box3 mine = owned(scheme_, u.box());
  each_covered(scheme_, sample.box, u.box(), [&](const Box3& part) { u.bring(part); });
  const auto now = u.now(field_), past = u.past(field_);
  const bool two_levels = scheme_.stencil.two_levels();
  const Terms<T> terms = u.terms();
  sample.now.assign(static_cast<std::size_t>(sample.box.volume()), 0);
  if (two_levels) sample.past = sample.now;
  for (const Term term : all_terms) {
    if (scheme_.terms.has(term)) sample.terms[static_cast<std::size_t>(term)] = sample.now;
  }
  std::size_t at = 0;
  each_point(sample.box, [&](Index3 p) {
    for (int d = 0; d < 3; ++d) {
      if (periodic[static_cast<std::size_t>(d)]) p[d] = wrapped(p[d], scheme_.global[d]);
    }
    if (!u.box().empty() && holds(mine, p)) {
      const Index3 local{{p[0] - u.box().low[0], p[1] - u.box().low[1], p[2] - u.box().low[2]}};
      sample.now[at] = static_cast<double>(now(local));
      if (two_levels) sample.past[at] = static_cast<double>(past(local));
      for (std::size_t k = 0; k < all_terms.size() && holds(u.box(), p); ++k) {
        if (!sample.terms[k].empty())
          sample.terms[k][at] = static_cast<double>(terms.field[k](local));
      }
    }
    ++at;
  });
  comm_.sum(std::span(sample.now));
  if (two_levels) comm_.sum(std::span(sample.past));
  for (auto& values : sample.terms) {
    if (!values.empty()) comm_.sum(std::span(values));
  }
}

template <class T>
T Samples<T>::recomputed(const Sample& sample) const {
  const auto periodic = scheme_.periodic();
  const auto value = [&](const std::vector<double>& values, Index3 p) {
    const Box3& box = sample.box;
    const Index3 size = box.size();
    for (int d = 0; d < 3; ++d) {
      p[d] -= box.low[d];
      if (periodic[static_cast<std::size_t>(d)]) p[d] = wrapped(p[d], scheme_.global[d]);
    }
    return static_cast<T>(
        values[static_cast<std::size_t>((p[0] * size[1] + p[1]) * size[2] + p[2])]);
  };
  using A = Arithmetic<T>;
  const auto term = [&](Term which, Index3 p) -> std::optional<A> {
    if (!scheme_.terms.has(which)) return {};
    return static_cast<A>(value(sample.terms[static_cast<std::size_t>(which)], p));
  };
  const auto terms = [&](Index3 p) -> tessera::stencil::PointTerms<A> {
    return {term(Term::coefficients, p), term(Term::source, p), term(Term::mask, p),
            term(Term::walls, p), static_cast<A>(scheme_.terms.source_factor)};
  };
  return tessera::stencil::recompute<T>(
      scheme_.stencil, scheme_.sides, scheme_.global, sample.point, steps_,
      [&](Index3 p) { return value(sample.now, p); },
      [&](Index3 p) { return value(sample.past, p); }, terms);
}

template <class T>
void Samples<T>::record(const DistributedField<T>& u) {
  got_.assign(samples_.size(), 0);
  const auto now = u.now(field_);
  const Box3& box = u.box();
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    const Index3 p = samples_[i].point;
    if (!holds(box, p)) continue;
    const Index3 at{{p[0] - box.low[0], p[1] - box.low[1], p[2] - box.low[2]}};
    u.bring({at, {{at[0] + 1, at[1] + 1, at[2] + 1}}});
    got_[i] = static_cast<double>(now(at));
  }
  comm_.sum(std::span(got_));
}

template <class T>
index_t Samples<T>::wrong() const {
  index_t different = 0;
  for (auto i = static_cast<std::size_t>(comm_.rank()); i < got_.size();
       i += static_cast<std::size_t>(comm_.size())) {
    const auto want = static_cast<double>(recomputed(samples_[i]));
    // A field may hold NaN, which then spreads in both computations.
    const bool same = got_[i] == want || (std::isnan(got_[i]) && std::isnan(want));
    different += same ? 0 : 1;
    mpi::heartbeat();
  }
  return comm_.sum(different);
}

template class Samples<Half>;
template class Samples<BFloat16>;
template class Samples<float>;
template class Samples<double>;

}  // namespace tessera::inline v1::dist::stencil
