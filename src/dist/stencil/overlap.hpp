#pragma once
// Overlap of halo exchange and arithmetic: the interior of a box is independent of the halo, the
// edges are computed once it has arrived.

#include <vector>

#include "dist/stencil/field.hpp"

namespace tessera::inline v1::dist::stencil {

/// A box split into the part that some steps can compute without the halo, and the boxes around it;
/// in local indices.
struct Split {
  struct Edge {
    Box3 box;
    int d, side;  ///< the side of the box at which it is
  };
  Box3 interior;
  std::vector<Edge> edges;  ///< each spans what the earlier ones left
};
/// Splits a box. depth: points of the halo by dimension. Returns no edges if a box is less than two
/// halos long: the initial values of an edge would be outside the box.
[[nodiscard]] Split split(Index3 size, const Edges& edges, Index3 depth);

/// A copy of an edge of a rank's box: the steps of the interior overwrite the edge's initial
/// values.
template <class T>
class EdgeField {
 public:
  EdgeField(const DistributedField<T>& u, index_t field, const Box3& edge, index_t steps);

  /// Copies everything but the halo of u's box; call it before the interior is computed.
  void take(DistributedField<T>& u) { copy(u, Which::all); }
  /// Copies the halo, once it has arrived.
  void take_halo(DistributedField<T>& u) { copy(u, Which::beyond_box); }
  [[nodiscard]] Sweep<T> sweep(int threads);
  /// Copies the result back, both levels.
  void give(DistributedField<T>& u);

 private:
  enum class Which { all, beyond_box };
  void copy(DistributedField<T>& u, Which which);

  const Scheme& scheme_;
  index_t field_;
  Box3 edge_;  ///< in u's local indices
  Index3 origin_;
  index_t steps_;
  Ghosts ghosts_;
  Field<T> storage_;
  Terms<T> terms_;
};

}  // namespace tessera::inline v1::dist::stencil
