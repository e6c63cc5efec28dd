#pragma once
// Ghost layers of one rank that no other rank sends: values beyond the sides of the global field,
// and those of periodic dimensions that are not divided.

#include <array>
#include <cstring>

#include "dist/stencil/halo_exchange.hpp"

namespace tessera::inline v1::dist::stencil {

/// Copies n elements between rows of any steps.
template <class T>
void copy_row(T* to, index_t to_step, const T* from, index_t from_step, index_t n) {
  if (to_step == 1 && from_step == 1) {
    std::memcpy(static_cast<void*>(to), from, static_cast<std::size_t>(n) * sizeof(T));
    return;
  }
  for (index_t i = 0; i < n; ++i) to[i * to_step] = from[i * from_step];
}

/// The box of a rank and its ghost layers.
class GhostLayers {
 public:
  GhostLayers() = default;
  GhostLayers(const HaloShape& shape, index_t rank)
      : widths_(shape.widths), sides_(shape.sides), size_(shape.grid.of(rank).size()) {
    const Index3 place = shape.grid.place(rank);
    global_ = shape.grid.global;
    origin_ = shape.grid.of(rank).low;
    for (std::size_t d = 0; d < 3; ++d) {
      const auto i = static_cast<int>(d);
      const bool whole = shape.grid.parts[i] == 1;
      const bool periodic = sides_[d][0].kind == Boundary::periodic;
      own_[d][0] = periodic ? whole : place[i] == 0;
      own_[d][1] = periodic ? whole : place[i] == shape.grid.parts[i] - 1;
    }
  }

  /// The values beyond constant sides.
  template <class T>
  using Values = std::array<std::array<T, 2>, 3>;

  /// Fills them. Precondition: layers that neighbours send are filled. x comes first, because the
  /// rule of z takes precedence where several apply.
  template <class T>
  void fill(const GridView<T>& u, const Values<T>& beyond) const {
    for (std::size_t d = 3; d-- > 0;)
      for (std::size_t side = 0; side < 2; ++side)
        if (own_[d][side]) fill(u, static_cast<int>(d), static_cast<int>(side), beyond[d][side]);
  }

  /// Calls set(box, d, side) for boxes that hold the value beyond a constant side, and copy(box,
  /// from) for others, whose points are those of a box of the same size that begins at `from`, in
  /// the order in which they must be filled.
  template <class Set, class Copy>
  void each_layer(const Set& set, const Copy& copy) const {
    for (std::size_t d = 3; d-- > 0;) {
      for (std::size_t side = 0; side < 2; ++side) {
        const Boundary kind = sides_[d][side].kind;
        const From origin = tessera::stencil::origin_of(kind);
        const auto axis = static_cast<int>(d);
        const Box3 box = layers(axis, static_cast<int>(side));
        if (!own_[d][side] || origin == From::given || box.empty()) continue;
        if (origin == From::constant) {
          set(box, d, side);
          continue;
        }
        for (index_t i = box.low[axis]; i < box.high[axis]; ++i) {
          Box3 layer = box;
          layer.low[axis] = i;
          layer.high[axis] = i + 1;
          Index3 from = layer.low;
          from[axis] = source(kind, axis, i);
          copy(layer, from);
        }
      }
    }
  }

 private:
  /// Returns the points of the layers on a side of dimension d: along the other dimensions the box
  /// and the ghost layers that are filled.
  [[nodiscard]] Box3 layers(int d, int side) const {
    Box3 box{{}, size_};
    for (int e = 0; e < 3; ++e) {
      const auto& own = own_[static_cast<std::size_t>(e)];
      if (e == d) {
        box.low[e] = side == 0 ? -widths_[e] : size_[e];
        box.high[e] = side == 0 ? 0 : size_[e] + widths_[e];
        continue;
      }
      if (e > d || !own[0]) box.low[e] -= widths_[e];
      if (e > d || !own[1]) box.high[e] += widths_[e];
    }
    return box;
  }

  template <class T>
  void fill(const GridView<T>& u, int d, int side, const T& constant) const {
    const Boundary kind = sides_[static_cast<std::size_t>(d)][static_cast<std::size_t>(side)].kind;
    const From origin = tessera::stencil::origin_of(kind);
    const Box3 box = layers(d, side);
    if (origin == From::given || box.empty()) return;
    for (index_t z = box.low[0]; z < box.high[0]; ++z) {
      for (index_t y = box.low[1]; y < box.high[1]; ++y) {
        const Index3 at{{z, y, box.low[2]}};
        T* const row = &u(at);
        const index_t n = box.size()[2];
        if (origin == From::constant) {
          for (index_t x = 0; x < n; ++x) row[x * u.stride[2]] = constant;
        } else if (d == 2) {
          for (index_t x = 0; x < n; ++x)
            row[x * u.stride[2]] = u(z, y, source(kind, d, box.low[2] + x));
        } else {
          Index3 from = at;
          from[d] = source(kind, d, at[d]);
          copy_row(row, u.stride[2], &u(from), u.stride[2], n);
        }
      }
    }
  }

  /// Returns the local index whose value a local index outside of the field repeats.
  [[nodiscard]] index_t source(Boundary kind, int d, index_t i) const {
    return tessera::stencil::source_index(kind, i + origin_[d], global_[d]) - origin_[d];
  }

  using From = tessera::stencil::From;

  Index3 widths_, global_, origin_;
  Sides sides_{};
  Index3 size_{{0, 0, 0}};
  std::array<std::array<bool, 2>, 3> own_{};  ///< sides whose layers no neighbour sends
};

}  // namespace tessera::inline v1::dist::stencil
