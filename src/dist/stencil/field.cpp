// Allocation of distributed fields, terms and ghost layers.

#include "dist/stencil/field.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.hpp"
#include "dist/stencil/plan.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::dist::stencil {
namespace {

/// Returns the box with its ghost layers, in local indices.
Box3 with_ghosts(Index3 extent, const Ghosts& ghosts) {
  Box3 all{{}, extent};
  for (int d = 0; d < 3; ++d) {
    all.low[d] -= ghosts[static_cast<std::size_t>(d)][0];
    all.high[d] += ghosts[static_cast<std::size_t>(d)][1];
  }
  return all;
}

/// Sets the ghost layers to zero: vector kernels load whole lines, including ghosts that are never
/// filled, which must not trap. By all threads: in rows that are shorter than a (huge) page the
/// first write to each page of new memory is to a ghost.
template <class T>
void clear_ghosts(const GridView<T>& u, const Ghosts& ghosts) {
  constexpr index_t small = index_t{1} << 16;  // points
  const Box3 all = with_ghosts(u.extent, ghosts);
  const index_t rows_of_plane = all.high[1] - all.low[1];
  machine::parallel_ranges(
      u.extent.volume() < small ? 1 : machine::default_threads(),
      (all.high[0] - all.low[0]) * rows_of_plane, [&](index_t begin, index_t end) {
        for (index_t i = begin; i < end; ++i) {
          const index_t z = all.low[0] + i / rows_of_plane, y = all.low[1] + i % rows_of_plane;
          T* row = u.row(z, y);
          const bool inside = z >= 0 && z < u.extent[0] && y >= 0 && y < u.extent[1];
          std::fill(row + all.low[2], row + (inside ? 0 : all.high[2]), T{});
          if (inside) std::fill(row + u.extent[2], row + all.high[2], T{});
        }
      });
}

}  // namespace

Edges edges_of(const Scheme& scheme, const layout::GridLayout& grid, index_t rank) {
  const Box3 box = grid.of(rank);
  Sweep<float> sweep;
  sweep.sides = scheme.sides;
  sweep.global = scheme.global;
  sweep.origin = box.low;
  sweep.level[0].extent = box.size();
  Edges edges;
  for (int d = 0; d < 3; ++d) {
    for (int side = 0; side < 2; ++side)
      edges[static_cast<std::size_t>(d)][static_cast<std::size_t>(side)] = sweep.edge(d, side);
  }
  return edges;
}

namespace {

/// Returns the grid; throws Error(usage) unless a field of this problem can be cut into its boxes.
const layout::GridLayout& checked(const layout::GridLayout& grid, const Scheme& scheme,
                                  index_t rank, index_t halo_steps, index_t fields) {
  require_argument(
      grid.global == scheme.global, "grid",
      fmt::format("has {} points: must be {}, as in the scheme", layout::parts_text(grid.global, 3),
                  layout::parts_text(scheme.global, 3)));
  require_argument(
      rank >= 0 && rank < grid.ranks, "rank",
      fmt::format("is {}: must be in [0, {}), the ranks of the grid", rank, grid.ranks));
  require_argument(fields >= 1, "fields", fmt::format("is {}: must be at least 1", fields));
  for (std::size_t d = 0; d < 3; ++d) {
    require_argument(
        (scheme.sides[d][0].kind == Boundary::periodic) ==
            (scheme.sides[d][1].kind == Boundary::periodic),
        "sides", "has a dimension with one periodic side: both sides or neither must be periodic");
    require_argument(scheme.stencil.radius[static_cast<int>(d)] == 0 ||
                         static_cast<int>(d) >= 3 - scheme.stencil.dims,
                     "stencil", "has a radius in a dimension beyond its dims: must be 0");
  }
  require_argument(halo_steps >= 1 && halo_steps <= std::max<index_t>(1, deepest(scheme, grid)),
                   "halo_steps",
                   fmt::format("is {1}: must be in [1, {0}] for the boxes of this grid",
                               std::max<index_t>(1, deepest(scheme, grid)), halo_steps));
  return grid;
}

}  // namespace

template <class T>
DistributedField<T>::DistributedField(const Scheme& scheme, const layout::GridLayout& grid,
                                      index_t rank, index_t halo_steps, index_t fields)
    : scheme_(scheme),
      grid_(checked(grid, scheme, rank, halo_steps, fields)),
      box_(grid.of(rank)),
      halo_steps_(halo_steps),
      storage_(static_cast<std::size_t>(fields)) {
  if (box_.empty()) return;
  ghosts_ = ghosts_for(scheme.stencil, halo_steps, edges_of(scheme, grid, rank));
  for (index_t field = 0; field < fields; ++field) {
    storage_[static_cast<std::size_t>(field)] = Field<T>(scheme.stencil.dims, box_.size(), ghosts_);
    clear_ghosts(now(field), ghosts_);
    clear_ghosts(past(field), ghosts_);
  }
}

template <class T>
Sweep<T> DistributedField<T>::sweep(index_t steps, int threads, index_t field) {
  require_argument(
      steps >= 0 && steps <= halo_steps_, "steps",
      fmt::format("is {1}: must be in [0, {0}], the steps of the halo", halo_steps_, steps));
  return {scheme_.stencil,           scheme_.sides, scheme_.global, box_.low,
          {now(field), past(field)}, steps,         threads,        terms()};
}

template <class T>
TermFields<T>::TermFields(const Scheme& scheme, const layout::GridLayout& grid, index_t rank,
                          index_t halo_steps)
    : set_(scheme.terms), size_(grid.of(rank).size()), box_(grid.of(rank)) {
  if (box_.empty()) return;
  const Ghosts ghosts = term_ghosts(scheme.stencil, halo_steps, edges_of(scheme, grid, rank));
  for (int d = 0; d < 3; ++d) {
    origin_[d] = ghosts[static_cast<std::size_t>(d)][0];
    box_.low[d] -= ghosts[static_cast<std::size_t>(d)][0];
    box_.high[d] += ghosts[static_cast<std::size_t>(d)][1];
  }
  for (const Term term : all_terms) {
    if (set_.has(term))
      storage_[static_cast<std::size_t>(term)] = Field<T>(scheme.stencil.dims, size_, ghosts, 1);
  }
}

template <class T>
GridView<T> TermFields<T>::operator[](Term term) {
  if (!set_.has(term) || box_.empty()) return {};
  const GridView<T> own = storage_[static_cast<std::size_t>(term)].level(0);
  return own.box({{-origin_[0], -origin_[1], -origin_[2]}}, box_.size());
}

template <class T>
Terms<T> TermFields<T>::terms() const {
  Terms<T> terms{{}, set_.source_factor};
  if (box_.empty()) return terms;
  for (const Term term : all_terms) {
    const auto i = static_cast<std::size_t>(term);
    if (set_.has(term)) terms.field[i] = storage_[i].level(0);
  }
  return terms;
}

template <class T>
index_t field_bytes(const Scheme& scheme, const layout::GridLayout& grid, index_t rank,
                    index_t halo_steps, index_t fields) {
  const Box3 box = grid.of(rank);
  if (box.empty()) return 0;
  const int dims = scheme.stencil.dims;
  const Edges edges = edges_of(scheme, grid, rank);
  const index_t terms =
      scheme.terms.count() *
      Field<T>::bytes(dims, box.size(), term_ghosts(scheme.stencil, halo_steps, edges), 1);
  return terms +
         fields * Field<T>::bytes(dims, box.size(), ghosts_for(scheme.stencil, halo_steps, edges));
}

#define TESSERA_INSTANTIATE(T)                                                                \
  template class TermFields<T>;                                                               \
  template class DistributedField<T>;                                                         \
  template index_t field_bytes<T>(const Scheme&, const layout::GridLayout&, index_t, index_t, \
                                  index_t);
TESSERA_INSTANTIATE(Half)
TESSERA_INSTANTIATE(BFloat16)
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
#undef TESSERA_INSTANTIATE

}  // namespace tessera::inline v1::dist::stencil
