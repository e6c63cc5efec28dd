#pragma once
// A field whose boxes lie on the ranks, with its ghost layers and the level before.

#include "dist/stencil/problem.hpp"
#include "kernels/stencil/sweep.hpp"
#include "layout/grid_layout.hpp"

namespace tessera::dist::stencil {

using tessera::stencil::Edge;
using tessera::stencil::Field;
using tessera::stencil::Ghosts;
using tessera::stencil::Sweep;

/// Sides of a rank's box.
using Edges = std::array<std::array<Edge, 2>, 3>;
[[nodiscard]] Edges edges_of(const Problem& problem, const layout::GridLayout& grid, index_t rank);

/// This rank's box with ghost layers for up to halo_steps steps between two exchanges.
template <class T>
class DistributedField {
 public:
  DistributedField() = default;
  /// Uninitialised but for the ghost layers, which are zero.
  DistributedField(const Problem& problem, const layout::GridLayout& grid, index_t rank, index_t halo_steps);

  [[nodiscard]] const Problem& problem() const { return problem_; }
  [[nodiscard]] const layout::GridLayout& grid() const { return grid_; }
  [[nodiscard]] const Box3& box() const { return box_; }  ///< in global indices
  [[nodiscard]] const Ghosts& ghosts() const { return ghosts_; }
  [[nodiscard]] index_t halo_steps() const { return halo_steps_; }

  [[nodiscard]] GridView<T> now() { return storage_.level(turned_); }
  [[nodiscard]] GridView<T> past() { return storage_.level(turned_ + 1); }  ///< one step before
  [[nodiscard]] GridView<const T> now() const { return const_cast<DistributedField*>(this)->now(); }
  [[nodiscard]] GridView<const T> past() const { return const_cast<DistributedField*>(this)->past(); }

  /// What a kernel takes to go `steps` steps on from here.
  [[nodiscard]] Sweep<T> sweep(index_t steps, int threads);
  /// So many steps are done.
  void turn(index_t steps) { turned_ = (turned_ + steps) % 2; }
  /// Begins again: the next initial values go to now().
  void rewind() { turned_ = 0; }

 private:
  Problem problem_;
  layout::GridLayout grid_;
  Box3 box_;
  index_t halo_steps_ = 1;
  Ghosts ghosts_{};
  Field<T> storage_;
  index_t turned_ = 0;
};

/// Bytes of a rank's field.
template <class T>
[[nodiscard]] index_t field_bytes(const Problem& problem, const layout::GridLayout& grid, index_t rank,
                                  index_t halo_steps);

}  // namespace tessera::dist::stencil
