// Checks of sweeps, and fields: the layout of levels with ghost layers.

#include "kernels/stencil/sweep.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/bfloat16.hpp"
#include "kernels/stencil/engine.hpp"

namespace tessera::inline v1::stencil {
namespace {

constexpr index_t line_bytes = 64;
constexpr index_t page_bytes = 4096;

}  // namespace

void check_stencil(const Stencil& stencil, const Sides& sides, int dims) {
  require_argument(dims == stencil.dims, "stencil", [&] {
    return fmt::format("'{}' has {} dimension(s): the field has {}", stencil.name, stencil.dims,
                       dims);
  });
  for (const auto& [low, high] : sides) {
    require_argument(
        (low.kind == Boundary::periodic) == (high.kind == Boundary::periodic), "boundary",
        "is periodic on one side of a dimension: both sides or neither must be periodic");
  }
}

template <class T>
void check(const Sweep<T>& sweep) {
  check_stencil(sweep.stencil, sweep.sides, sweep.level[0].dims);
  require_argument(sweep.steps >= 0, "steps", "is negative: must be at least 0");
  require_argument(sweep.threads >= 1, "threads", "is less than 1: must be at least 1");
  const auto& [now, next] = sweep.level;
  require_argument(now.extent == next.extent && now.stride == next.stride, "level",
                   "has two fields of different extents or strides: must be equal");
  require_argument(now.extent.volume() == 0 || (now.data != nullptr && next.data != nullptr),
                   "level", "has a null data pointer: both fields need memory");
  require_argument(now.data != next.data || now.extent.volume() == 0, "level",
                   "has the same memory twice: both fields need separate memory");
  for (int d = 0; d < 3; ++d) {
    require_argument(sweep.origin[d] >= 0 && now.extent[d] >= 0 &&
                         sweep.origin[d] + now.extent[d] <= sweep.global[d],
                     "origin",
                     "places the box outside of the field: origin + extent must be at most global");
  }
}

template <class T>
void keep_given(const Sweep<T>& sweep) {
  if (sweep.extent().volume() == 0) return;
  const auto is_given = [&](int d, int side) {
    return sweep.edge(d, side) == Edge::outer &&
           sweep.sides[static_cast<std::size_t>(d)][static_cast<std::size_t>(side)].kind ==
               Boundary::given;
  };
  Box3 all{{}, sweep.extent()};
  for (int d = 0; d < 3; ++d) {
    const index_t radius = sweep.stencil.radius[d];
    all.low[d] -= sweep.edge(d, 0) == Edge::exchanged ? radius * sweep.steps : radius;
    all.high[d] += sweep.edge(d, 1) == Edge::exchanged ? radius * sweep.steps : radius;
  }
  for (int d = 0; d < 3; ++d) {
    for (int side = 0; side < 2; ++side) {
      if (!is_given(d, side)) continue;
      Box3 beyond = all;
      (side == 0 ? beyond.high : beyond.low)[d] = side == 0 ? 0 : sweep.extent()[d];
      const index_t width = beyond.size()[2];
      if (beyond.empty()) continue;
      Box3 rows = beyond;
      rows.high[2] = rows.low[2] + 1;
      machine::parallel(sweep.threads, [&] {
        for_pieces(rows, sweep.threads, [&](const Box3& piece) {
          for (index_t z = piece.low[0]; z < piece.high[0]; ++z) {
            for (index_t y = piece.low[1]; y < piece.high[1]; ++y)
              std::copy_n(sweep.level[0].row(z, y) + beyond.low[2], width,
                          sweep.level[1].row(z, y) + beyond.low[2]);
          }
        });
      });
    }
  }
}

void check_terms(const Stencil& stencil, const TermSet& terms) {
  const bool only_mask = terms.count() == (terms.has(Term::mask) ? 1 : 0);
  require_argument(
      stencil.rule == Rule::linear || only_mask, "stencil",
      fmt::format("'{}' is not a weighted sum: only a mask (--fill mask) is supported, not "
                  "coefficients, source or walls",
                  stencil.name));
}

template <class T>
typename Field<T>::Shape Field<T>::shape(Index3 extent, const Ghosts& ghosts) {
  constexpr auto line = line_bytes / static_cast<index_t>(sizeof(T));
  // One line more than the ghosts before and after: vector kernels read whole lines around a row.
  const index_t before = round_up(ghosts[2][0], line) + line;
  index_t row = before + round_up(extent[2] + ghosts[2][1], line) + line;
  if (row * static_cast<index_t>(sizeof(T)) % page_bytes == 0) row += line;
  const index_t rows = extent[1] + ghosts[1][0] + ghosts[1][1];
  const index_t planes = extent[0] + ghosts[0][0] + ghosts[0][1];
  index_t plane = checked_mul(rows, row, "size of a field");
  if (planes > 1 && plane * static_cast<index_t>(sizeof(T)) % page_bytes == 0)
    plane += row;  // planes of whole rows can also be seen as arrays of three dimensions
  const index_t origin = ghosts[0][0] * plane + ghosts[1][0] * row + before;
  return {{{plane, row, 1}}, origin, checked_mul(planes, plane, "size of a field") + line};
}

template <class T>
Field<T>::Field(int dims, Index3 extent, const Ghosts& ghosts, int levels)
    : dims_(dims), extent_(extent), shape_(shape(extent, ghosts)) {
  for (int level = 0; level < levels; ++level)
    storage_[level] = machine::Buffer<T>(shape_.count + page_bytes);
}

template <class T>
GridView<T> Field<T>::level(index_t step) {
  // Half a page between the levels, so that a row and its result do not alias.
  const index_t shift =
      step % 2 == 0 ? 0 : (page_bytes / 2 + line_bytes) / static_cast<index_t>(sizeof(T));
  return {storage_[step % 2].data() + shape_.origin + shift, extent_, shape_.stride, dims_};
}

template <class T>
index_t Field<T>::bytes(int, Index3 extent, const Ghosts& ghosts, int levels) {
  return levels * static_cast<index_t>(sizeof(T)) * (shape(extent, ghosts).count + page_bytes);
}

Ghosts ghosts_for(const Stencil& stencil, index_t steps,
                  const std::array<std::array<Edge, 2>, 3>& edges) {
  Ghosts ghosts{};
  for (std::size_t d = 0; d < 3; ++d) {
    for (std::size_t side = 0; side < 2; ++side) {
      const index_t radius = stencil.radius[static_cast<int>(d)];
      ghosts[d][side] = edges[d][side] == Edge::exchanged ? radius * steps : radius;
    }
  }
  return ghosts;
}

Ghosts term_ghosts(const Stencil& stencil, index_t steps,
                   const std::array<std::array<Edge, 2>, 3>& edges) {
  Ghosts ghosts = ghosts_for(stencil, std::max<index_t>(steps - 1, 0), edges);
  for (std::size_t d = 0; d < 3; ++d) {
    for (std::size_t side = 0; side < 2; ++side) {
      if (edges[d][side] != Edge::exchanged) ghosts[d][side] = 0;
    }
  }
  return ghosts;
}

template <class T>
Field<T> whole_field(const Stencil& stencil, Index3 extent) {
  return Field<T>(stencil.dims, extent, ghosts_for(stencil, 1, {}));
}

template <class T>
Sweep<T> whole_sweep(const Stencil& stencil, const Sides& sides, Field<T>& field, index_t steps,
                     int threads) {
  return {stencil, sides,  field.level(0).extent, {}, {field.level(0), field.level(1)},
          steps,   threads};
}

template void check(const Sweep<Half>&);
template void check(const Sweep<BFloat16>&);
template void check(const Sweep<float>&);
template void check(const Sweep<double>&);
template void keep_given(const Sweep<Half>&);
template void keep_given(const Sweep<BFloat16>&);
template void keep_given(const Sweep<float>&);
template void keep_given(const Sweep<double>&);
template class Field<Half>;
template class Field<BFloat16>;
template class Field<float>;
template class Field<double>;
template Field<Half> whole_field(const Stencil&, Index3);
template Field<BFloat16> whole_field(const Stencil&, Index3);
template Field<float> whole_field(const Stencil&, Index3);
template Field<double> whole_field(const Stencil&, Index3);
template Sweep<Half> whole_sweep(const Stencil&, const Sides&, Field<Half>&, index_t, int);
template Sweep<BFloat16> whole_sweep(const Stencil&, const Sides&, Field<BFloat16>&, index_t, int);
template Sweep<float> whole_sweep(const Stencil&, const Sides&, Field<float>&, index_t, int);
template Sweep<double> whole_sweep(const Stencil&, const Sides&, Field<double>&, index_t, int);

}  // namespace tessera::inline v1::stencil
