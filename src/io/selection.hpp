#pragma once
// Parts of datasets in numpy's notation: "/A[0:1000,50:]".

#include <string>
#include <string_view>
#include <vector>

#include "layout/block_map.hpp"

namespace tessera::inline v1::io {

/// The selection along one dimension. Negative bounds count from the end.
struct Pick {
  index_t begin = 0, end = 0;
  bool to_the_end = true;
  bool is_index = false;  ///< the dimension is dropped
};

/// The picks of the leading dimensions; the others are whole. Empty: everything.
using Selection = std::vector<Pick>;

/// Removes "[...]" from the end of path and returns its selection. A path without brackets at its
/// end, or with characters in them that selections do not have, is not changed. Throws Error(usage)
/// for an invalid selection ("[1:2:3]", "[:,]").
[[nodiscard]] Selection cut_selection(std::string& path);

/// Returns the ranges for a dataset with these extents. Throws Error(usage) if a pick is out of
/// bounds or the dataset has fewer dimensions; `name` is the dataset's, for the message.
[[nodiscard]] std::vector<layout::Range> resolve(const Selection& selection,
                                                 const std::vector<index_t>& extents,
                                                 const std::string& name);

/// Returns, of one value per dimension, those of the dimensions that remain.
[[nodiscard]] std::vector<index_t> kept(const Selection& selection,
                                        const std::vector<index_t>& values);

}  // namespace tessera::inline v1::io
