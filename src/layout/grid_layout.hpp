#pragma once
// Distribution of a field in one to three dimensions over ranks, and the halo pieces between them.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/grid_view.hpp"
#include "layout/block_map.hpp"

namespace tessera::inline v1::layout {

/// A field cut into parts[d] consecutive ranges along dimension d. The boxes belong to the first
/// parts.volume() ranks, last index fastest; the other ranks hold nothing.
struct GridLayout {
  Index3 global{{1, 1, 1}};
  Index3 parts{{1, 1, 1}};
  index_t ranks = 1;
  /// By dimension: the first index of every range, then the extent; empty if the ranges are even.
  std::array<std::vector<index_t>, 3> cuts = {};

  [[nodiscard]] index_t active() const { return parts.volume(); }
  [[nodiscard]] Index3 place(index_t rank) const;
  [[nodiscard]] index_t rank_at(Index3 place) const;
  /// Returns a rank's box in global indices; empty from active() on.
  [[nodiscard]] Box3 of(index_t rank) const;
  [[nodiscard]] Range range(int d, index_t part) const;
  /// Returns the length of the shortest range of a dimension.
  [[nodiscard]] index_t shortest(int d) const;
};

/// Constraints of a grid: the depth of the halo by dimension, and the elements of a cache line.
struct GridRequest {
  Index3 global;
  index_t ranks = 1;
  Index3 depth;
  std::array<bool, 3> periodic{};
  index_t line = 1;  ///< elements of a cache line, the unit of transfer along the last dimension
};

/// Returns the grid of most ranks (at most request.ranks) in which every range of a cut dimension
/// is at least as long as the depth of the halo; ties are resolved by the smallest maximal halo,
/// then by cuts of slow dimensions.
[[nodiscard]] GridLayout choose_grid(const GridRequest& request);
/// Returns a one-dimensional grid of all ranks along the dimension that is longest relative to its
/// halo, with shares proportional to the weights but not shorter than the depth of the halo; none
/// if the dimension is too short.
[[nodiscard]] std::optional<GridLayout> weighted_grid(const GridRequest& request,
                                                      const std::vector<double>& weights);
/// Returns whether every range of a cut dimension is at least as long as the depth of the halo, and
/// not empty.
[[nodiscard]] bool fits(const Index3& parts, const GridRequest& request);
/// Returns the elements of the halo of the largest box, in whole lines along the last dimension.
[[nodiscard]] double halo_elements(const Index3& parts, const GridRequest& request);
/// Returns the parts of the last `dims` dimensions: "2x3".
[[nodiscard]] std::string parts_text(const Index3& parts, int dims);

/// A box that is sent to or received from a neighbour, in local indices: this rank's box begins at
/// 0.
struct HaloPiece {
  index_t peer = 0;
  int tag = 0;  ///< the direction of travel, equal on both ranks
  Box3 box;
};

/// Returns the pieces that `rank` receives into the layers of `depth` points around its box from
/// every neighbour, edges and corners included, across periodic borders too. An undivided dimension
/// has no such layers. Precondition: the grid fits that depth.
[[nodiscard]] std::vector<HaloPiece> halo_receives(const GridLayout& grid, index_t rank,
                                                   Index3 depth,
                                                   const std::array<bool, 3>& periodic);
/// Returns the pieces that `rank` sends: the mirror image of halo_receives.
[[nodiscard]] std::vector<HaloPiece> halo_sends(const GridLayout& grid, index_t rank, Index3 depth,
                                                const std::array<bool, 3>& periodic);

}  // namespace tessera::inline v1::layout
