#pragma once
// The problem that every stencil variant solves: some steps over the box of a global field that one
// rank owns.

#include "base/grid_view.hpp"
#include "kernels/stencil/boundary.hpp"
#include "kernels/stencil/stencil.hpp"
#include "kernels/stencil/terms.hpp"
#include "machine/buffer.hpp"

namespace tessera::inline v1::stencil {

/// The kinds of sides of the owned box: `outer` is a side of the global field, where the boundary
/// condition holds at every step; `exchanged` borders another rank's box; `wrapped` belongs to a
/// periodic dimension that the box spans whole.
enum class Edge { outer, exchanged, wrapped };

/// A sweep of the owned box. level[s % 2] holds the box after s steps: level[0] before the sweep,
/// level[steps % 2] after it. Ghost layers: radius * steps points wide on exchanged sides, where
/// the caller fills them in level[0] (with two time levels also in level[1], which then holds the
/// previous step); radius points on other sides, where the sweep fills them, except for
/// Boundary::given, whose values the caller has written into level[0] (along the ghost layers of
/// exchanged sides too); run() keeps those in both levels, so that the next sweep can begin at
/// either. Both levels have equal strides, and rows can be read one cache line past either ghost
/// layer: allocate them as Field.
template <class T>
struct Sweep {
  Stencil stencil;
  Sides sides;
  Index3 global;  ///< extent of the global field
  Index3 origin;  ///< of the owned box in it; its extent is that of the levels
  GridView<T> level[2];
  index_t steps = 0;
  int threads = 1;
  Terms<T> terms = {};

  [[nodiscard]] Index3 extent() const { return level[0].extent; }
  [[nodiscard]] Edge edge(int d, int side) const {
    const bool whole = origin[d] == 0 && extent()[d] == global[d];
    const bool periodic = sides[static_cast<std::size_t>(d)][0].kind == Boundary::periodic;
    if (periodic) return whole ? Edge::wrapped : Edge::exchanged;
    const bool at_end = side == 0 ? origin[d] == 0 : origin[d] + extent()[d] == global[d];
    return at_end ? Edge::outer : Edge::exchanged;
  }
};

/// Throws Error(usage) for a stencil that does not suit a field of `dims` dimensions with such
/// sides: of other dimensions, or periodic on one side only.
void check_stencil(const Stencil& stencil, const Sides& sides, int dims);
/// Throws Error(usage) for an invalid sweep: as above, and for levels that differ or have no
/// memory, and a box outside of its field.
template <class T>
void check(const Sweep<T>& sweep);
/// Copies the values beyond given sides from level 0 to level 1, within the sweep's ghost layers.
template <class T>
void keep_given(const Sweep<T>& sweep);
/// Throws Error(usage) for terms that do not apply to the stencil: life takes a mask only.
void check_terms(const Stencil& stencil, const TermSet& terms);

/// Widths of ghost layers by dimension, low and high.
using Ghosts = std::array<std::array<index_t, 2>, 3>;

/// One or two levels of a box with ghost layers. Rows begin at cache lines and are padded so that
/// strides are no multiple of 4 KiB (equal addresses modulo 4 KiB share a cache set and falsely
/// alias in the load/store unit).
template <class T>
class Field {
 public:
  Field() = default;
  Field(int dims, Index3 extent, const Ghosts& ghosts, int levels = 2);
  [[nodiscard]] GridView<T> level(index_t step);
  [[nodiscard]] bool there() const { return storage_[0].size() > 0; }
  [[nodiscard]] static index_t bytes(int dims, Index3 extent, const Ghosts& ghosts, int levels = 2);

 private:
  struct Shape {
    Index3 stride;
    index_t origin, count;  ///< elements
  };
  static Shape shape(Index3 extent, const Ghosts& ghosts);
  int dims_ = 2;
  Index3 extent_;
  Shape shape_{};
  machine::Buffer<T> storage_[2];
};

/// Returns the ghost widths that a sweep of `steps` at once needs: exchanged sides radius * steps,
/// others radius.
[[nodiscard]] Ghosts ghosts_for(const Stencil& stencil, index_t steps,
                                const std::array<std::array<Edge, 2>, 3>& edges);

/// Returns the ghost widths of its terms: the part of the halo that the steps before the last
/// compute.
[[nodiscard]] Ghosts term_ghosts(const Stencil& stencil, index_t steps,
                                 const std::array<std::array<Edge, 2>, 3>& edges);

/// Returns the field of a single rank, whose sides are all sides of the global field.
template <class T>
[[nodiscard]] Field<T> whole_field(const Stencil& stencil, Index3 extent);
/// Returns the sweep over it.
template <class T>
[[nodiscard]] Sweep<T> whole_sweep(const Stencil& stencil, const Sides& sides, Field<T>& field,
                                   index_t steps, int threads);

}  // namespace tessera::inline v1::stencil
