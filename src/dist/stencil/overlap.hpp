#pragma once
// Work while the halo travels: the interior of a box needs nothing of it, the edges are computed
// when it is there.

#include <vector>

#include "dist/stencil/field.hpp"

namespace tessera::dist::stencil {

/// A box in its part that some steps can do without the halo, and boxes around it; in local
/// indices.
struct Split {
  struct Edge {
    Box3 box;
    int d, side;  ///< the side of the box that it lies at
  };
  Box3 interior;
  std::vector<Edge> edges;  ///< each as long as those before it have left
};
/// depth: points of the halo by dimension. No edges where a box is less than two halos long: what
/// an edge begins with would lie beyond the box.
[[nodiscard]] Split split(Index3 size, const Edges& edges, Index3 depth);

/// An edge of a rank's box in memory of its own: the steps of the interior overwrite what the edge
/// begins with.
template <class T>
class EdgeField {
 public:
  EdgeField(const DistributedField<T>& u, index_t field, const Box3& edge, index_t steps);

  /// Before the interior moves on: everything but the halo of u's box.
  void take(DistributedField<T>& u) { copy(u, Which::all); }
  /// When it is there: the halo.
  void take_halo(DistributedField<T>& u) { copy(u, Which::beyond_box); }
  [[nodiscard]] Sweep<T> sweep(int threads);
  /// The result, both levels.
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

}  // namespace tessera::dist::stencil
