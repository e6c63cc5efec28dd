#pragma once
// Distributions of a matrix over ranks with any number of blocks a rank: block-cyclic ones
// (ScaLAPACK), grids of blocks with any owners (COSTA), and one box a rank.

#include <cstddef>
#include <optional>
#include <vector>

#include "layout/matrix_layout.hpp"

namespace tessera::inline v1::layout {

/// Consecutive global indices of one dimension, which are consecutive in local memory too.
struct Segment {
  Range global;
  index_t local = 0;  ///< local index of global.begin
  friend bool operator==(const Segment&, const Segment&) = default;
};

/// The segments of one dimension in ascending order.
using Segments = std::vector<Segment>;
/// Returns the number of their indices.
[[nodiscard]] index_t count(const Segments& segments);

/// One dimension of a block-cyclic distribution: blocks of `block` indices, dealt out to `parts`
/// parts in turn from part `source` on. The first block has first_block indices (0: as many as the
/// others). source == -1: every part holds all indices.
struct CyclicMap {
  index_t extent = 0;
  index_t block = 1;
  index_t parts = 1;
  index_t source = 0;
  index_t first_block = 0;

  /// Returns the segments of a part within `range` of the indices; global indices are counted from
  /// range.begin. Neighbouring blocks of a single part are joined.
  [[nodiscard]] Segments segments(index_t part, Range range) const;
  /// Returns the number of indices of a part.
  [[nodiscard]] index_t size(index_t part) const;
};

/// A block-cyclic distribution over a grid of ranks, as a ScaLAPACK descriptor has it.
struct BlockCyclic {
  CyclicMap rows, cols;
  std::vector<index_t> ranks = {};  ///< by place in the grid, row by row; empty: 0, 1, 2, ...
  std::optional<Box> box = {};      ///< the submatrix that is distributed; nothing: all
};

/// A grid of blocks: block (i, j) has the rows from row_splits[i] to row_splits[i + 1], the columns
/// likewise, and belongs to owners[i * block columns + j]. The blocks of a rank are arrays of their
/// own, numbered row by row.
struct BlockGrid {
  std::vector<index_t> row_splits, col_splits;  ///< from 0 to the extent, ascending
  std::vector<index_t> owners;
};

struct ArrayGrid;

/// Which elements of a rows x cols matrix each rank holds and where: a list of parts, each the
/// product of row segments and column segments in one array of the rank's memory. Several ranks may
/// hold the same elements (replicas).
class Distribution {
 public:
  struct Part {
    index_t rank = 0;
    index_t array = 0;     ///< of the rank's local arrays
    index_t rows = 0;      ///< of row_segments()
    index_t cols = 0;      ///< of col_segments()
    bool replica = false;  ///< an earlier part has the same elements
  };

  Distribution() = default;
  /// One box a rank, as its only array.
  explicit Distribution(const MatrixLayout& layout);
  /// Throws Error(usage) that names the member if extents, blocks, parts, sources, ranks or box do
  /// not fit each other or `ranks`, the number of all ranks.
  Distribution(const BlockCyclic& cyclic, index_t ranks);
  /// Throws Error(usage) that names the member if splits or owners do not fit.
  Distribution(const BlockGrid& grid, index_t ranks);
  /// An array of several axes (layout/array_grid.hpp), as the matrix whose rows are the indices of
  /// the first row_axes axes, and whose columns those of the others. Throws Error(usage) naming the
  /// argument if the grid has other places than ranks, if a rank is repeated, or if the array has
  /// more elements than 64 bits count.
  Distribution(const ArrayGrid& grid, std::size_t row_axes, index_t ranks);

  [[nodiscard]] index_t rows() const { return rows_; }
  [[nodiscard]] index_t cols() const { return cols_; }
  [[nodiscard]] index_t ranks() const { return ranks_; }
  [[nodiscard]] const std::vector<Part>& parts() const { return parts_; }
  [[nodiscard]] const Segments& row_segments(const Part& part) const {
    return row_segments_[static_cast<std::size_t>(part.rows)];
  }
  [[nodiscard]] const Segments& col_segments(const Part& part) const {
    return col_segments_[static_cast<std::size_t>(part.cols)];
  }
  /// Returns the number of local arrays of a rank.
  [[nodiscard]] index_t arrays(index_t rank) const;
  /// Returns the box of local indices that encloses the segments of a rank's array.
  [[nodiscard]] Box local_box(index_t rank, index_t array) const;
  /// Returns the number of elements of all parts, replicas aside.
  [[nodiscard]] index_t elements() const;
  /// Where a box of the matrix begins in an array of a rank.
  struct Place {
    index_t array = 0;
    index_t row = 0, col = 0;  ///< local indices
  };
  /// Returns where a rank has all elements of the box as one block, in a part that is no replica;
  /// nothing if it has not.
  [[nodiscard]] std::optional<Place> find(index_t rank, const Box& box) const;
  /// Returns the distribution of the transposed matrix: the same elements on the same ranks, local
  /// rows and columns exchanged.
  [[nodiscard]] Distribution transposed() const;
  /// Returns the same distribution with rank r's parts on rank ranks[r], a permutation.
  [[nodiscard]] Distribution relabelled(const std::vector<index_t>& ranks) const;

 private:
  index_t rows_ = 0, cols_ = 0, ranks_ = 0;
  std::vector<Segments> row_segments_, col_segments_;
  std::vector<Part> parts_;
};

/// Returns ranks for b.relabelled() so that the most elements stay on their rank when data moves
/// from a to b, as COSTA chooses them (Kabic et al. 2021), but exactly: a maximum weight
/// assignment, in O(ranks^3). Throws Error(usage) if shapes or ranks differ.
[[nodiscard]] std::vector<index_t> best_ranks(const Distribution& a, const Distribution& b);

/// A stretch of indices that two segments have in common, by the local indices of both.
struct Common {
  index_t size = 0;
  index_t from = 0, to = 0;
};
/// Appends the stretches common to both lists of segments, in ascending order, joined where both
/// sides continue and cut into pieces of at most `most` indices.
void append_common(const Segments& from, const Segments& to, index_t most,
                   std::vector<Common>& common);
/// Returns the number of indices common to both.
[[nodiscard]] index_t count_common(const Segments& from, const Segments& to);

}  // namespace tessera::inline v1::layout
