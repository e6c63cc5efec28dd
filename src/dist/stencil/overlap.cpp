// Split of a box into an interior and edges, and the copies of the edges.

#include "dist/stencil/overlap.hpp"

#include <algorithm>

namespace tessera::inline v1::dist::stencil {
namespace {

Index3 plus(Index3 a, Index3 b) { return {{a[0] + b[0], a[1] + b[1], a[2] + b[2]}}; }

template <class T>
Sweep<T> sweep_on(const Scheme& scheme, Index3 origin, const std::array<GridView<T>, 2>& level,
                  index_t steps, int threads) {
  return {scheme.stencil,       scheme.sides, scheme.global, origin,
          {level[0], level[1]}, steps,        threads};
}

/// Returns the sides of a part of the field.
Edges edges_at(const Scheme& scheme, Index3 origin, Index3 size) {
  const GridView<float> shape{nullptr, size, {}, scheme.stencil.dims};
  const auto sweep = sweep_on<float>(scheme, origin, {shape, shape}, 1, 1);
  Edges edges;
  for (int d = 0; d < 3; ++d) {
    for (int side = 0; side < 2; ++side)
      edges[static_cast<std::size_t>(d)][static_cast<std::size_t>(side)] = sweep.edge(d, side);
  }
  return edges;
}

}  // namespace

Split split(Index3 size, const Edges& edges, Index3 depth) {
  Split result{{{}, size}, {}};
  Box3& core = result.interior;
  for (int d = 0; d < 3; ++d) {
    const auto& sides = edges[static_cast<std::size_t>(d)];
    const bool exchanged = sides[0] == Edge::exchanged || sides[1] == Edge::exchanged;
    if (exchanged && size[d] < 2 * depth[d]) return result;
  }
  for (int d = 0; d < 3; ++d) {
    const auto& sides = edges[static_cast<std::size_t>(d)];
    if (sides[0] == Edge::exchanged) {
      Box3 low = core;
      low.high[d] = core.low[d] = std::min(depth[d], core.high[d]);
      if (!low.empty()) result.edges.push_back({low, d, 0});
    }
    if (sides[1] == Edge::exchanged) {
      Box3 high = core;
      high.low[d] = core.high[d] = std::max(size[d] - depth[d], core.low[d]);
      if (!high.empty()) result.edges.push_back({high, d, 1});
    }
  }
  return result;
}

template <class T>
EdgeField<T>::EdgeField(const DistributedField<T>& u, index_t field, const Box3& edge,
                        index_t steps)
    : scheme_(u.scheme()),
      field_(field),
      edge_(edge),
      origin_(plus(u.box().low, edge.low)),
      steps_(steps),
      terms_(u.terms().box(edge.low, edge.size())) {
  ghosts_ = ghosts_for(scheme_.stencil, steps, edges_at(scheme_, origin_, edge.size()));
  storage_ = Field<T>(scheme_.stencil.dims, edge.size(), ghosts_);
}

template <class T>
Sweep<T> EdgeField<T>::sweep(int threads) {
  Sweep<T> sweep =
      sweep_on<T>(scheme_, origin_, {storage_.level(0), storage_.level(1)}, steps_, threads);
  sweep.terms = terms_;
  return sweep;
}

template <class T>
void EdgeField<T>::copy(DistributedField<T>& u, Which which) {
  const Index3 size = edge_.size(), own = u.box().size();
  const GridView<T> from[2]{u.now(field_), u.past(field_)},
      to[2]{storage_.level(0), storage_.level(1)};
  const index_t x0 = -ghosts_[2][0], x1 = size[2] + ghosts_[2][1];
  for (index_t z = -ghosts_[0][0]; z < size[0] + ghosts_[0][1]; ++z) {
    for (index_t y = -ghosts_[1][0]; y < size[1] + ghosts_[1][1]; ++y) {
      const index_t from_z = z + edge_.low[0], from_y = y + edge_.low[1];
      const bool inside = from_z >= 0 && from_z < own[0] && from_y >= 0 && from_y < own[1];
      for (int level = 0; level < 2; ++level) {
        const T* source = from[level].row(from_z, from_y) + edge_.low[2];
        T* target = to[level].row(z, y);
        if (which == Which::all || !inside) {
          std::copy(source + x0, source + x1, target + x0);
        } else {
          const index_t before = std::clamp(-edge_.low[2], x0, x1),
                        after = std::clamp(own[2] - edge_.low[2], x0, x1);
          std::copy(source + x0, source + before, target + x0);
          std::copy(source + after, source + x1, target + after);
        }
      }
    }
  }
}

template <class T>
void EdgeField<T>::give(DistributedField<T>& u) {
  const Index3 size = edge_.size();
  const GridView<T> to[2]{u.now(field_), u.past(field_)},
      from[2]{storage_.level(0), storage_.level(1)};
  for (int level = 0; level < 2; ++level) {
    for (index_t z = 0; z < size[0]; ++z) {
      for (index_t y = 0; y < size[1]; ++y)
        std::copy_n(from[level].row(z, y), size[2],
                    to[level].row(z + edge_.low[0], y + edge_.low[1]) + edge_.low[2]);
    }
  }
}

template class EdgeField<Half>;
template class EdgeField<BFloat16>;
template class EdgeField<float>;
template class EdgeField<double>;

}  // namespace tessera::inline v1::dist::stencil
