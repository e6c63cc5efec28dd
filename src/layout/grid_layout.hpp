#pragma once
// Which rank holds which box of a field in one to three dimensions, and who needs whose border.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/grid_view.hpp"
#include "layout/block_map.hpp"

namespace tessera::layout {

/// The field cut into parts[d] consecutive ranges along dimension d; the boxes belong to the first
/// parts.volume() ranks, the last index fastest. Ranks beyond hold nothing.
struct GridLayout {
  Index3 global{{1, 1, 1}};
  Index3 parts{{1, 1, 1}};
  index_t ranks = 1;
  /// By dimension: where its ranges begin, and its end, where they are not even.
  std::array<std::vector<index_t>, 3> cuts = {};

  [[nodiscard]] index_t active() const { return parts.volume(); }
  [[nodiscard]] Index3 place(index_t rank) const;
  [[nodiscard]] index_t rank_at(Index3 place) const;
  /// In global indices; empty for ranks beyond active().
  [[nodiscard]] Box3 of(index_t rank) const;
  [[nodiscard]] Range range(int d, index_t part) const;
  /// The shortest range of a dimension.
  [[nodiscard]] index_t shortest(int d) const;
};

/// What limits a grid: halo points on either side, by dimension, and elements that memory moves at
/// once.
struct GridRequest {
  Index3 global;
  index_t ranks = 1;
  Index3 depth;
  std::array<bool, 3> periodic{};
  index_t line =
      1;  ///< elements of a cache line: less than it is not moved along the last dimension
};

/// The grid of most ranks, up to those there are, in which every range of a dimension that is cut
/// is at least as long as the halo is deep; among those the one whose largest halo is least, then
/// the one that cuts slow dimensions.
[[nodiscard]] GridLayout choose_grid(const GridRequest& request);
/// All ranks behind one another along the dimension that is longest for its halo, their shares by
/// weights but no shorter than the halo is deep; nothing where there is no room for that.
[[nodiscard]] std::optional<GridLayout> weighted_grid(const GridRequest& request,
                                                      const std::vector<double>& weights);
/// Whether every range that is cut is at least as long as the halo is deep, and none is empty.
[[nodiscard]] bool fits(const Index3& parts, const GridRequest& request);
/// Elements of the halo of the largest box, whole lines along the last dimension.
[[nodiscard]] double halo_elements(const Index3& parts, const GridRequest& request);
/// "2 x 3" for a field of so many dimensions.
[[nodiscard]] std::string parts_text(const Index3& parts, int dims);

/// A box that goes to, or comes from, a neighbour; in local indices, where this rank's box begins
/// at 0.
struct HaloPiece {
  index_t peer = 0;
  int tag = 0;  ///< names the direction in which it travels, the same for both
  Box3 box;
};

/// What `rank` takes into the layers of `depth` points around its box from every neighbour, edges
/// and corners included, periodic dimensions closed. A dimension that is not cut has no such
/// layers. The grid must fit that depth.
[[nodiscard]] std::vector<HaloPiece> halo_receives(const GridLayout& grid, index_t rank,
                                                   Index3 depth,
                                                   const std::array<bool, 3>& periodic);
/// The mirror image: what it gives.
[[nodiscard]] std::vector<HaloPiece> halo_sends(const GridLayout& grid, index_t rank, Index3 depth,
                                                const std::array<bool, 3>& periodic);

}  // namespace tessera::layout
