#pragma once
// A part of a dataset, as numpy writes it: "/A[0:1000,50:]".

#include <string>
#include <string_view>
#include <vector>

#include "layout/block_map.hpp"

namespace tessera::io {

/// What is taken of one dimension. Bounds below 0 count from the end.
struct Pick {
  index_t begin = 0, end = 0;
  bool to_the_end = true;
  bool is_index = false;  ///< the dimension itself goes
};

/// The leading dimensions' picks; those behind them are whole. Empty: everything.
using Selection = std::vector<Pick>;

/// Cuts "[...]" off the end of path and returns what it says. A path without brackets at its end,
/// or with other characters in them than a selection has, stays as it is. Throws Error(usage) for
/// one that makes no sense ("[1:2:3]", "[:,]").
[[nodiscard]] Selection cut_selection(std::string& path);

/// The ranges of a dataset of those extents. Throws Error(usage) where a pick lies outside or a
/// dimension is missing; `name` is the dataset's, for the message.
[[nodiscard]] std::vector<layout::Range> resolve(const Selection& selection,
                                                 const std::vector<index_t>& extents,
                                                 const std::string& name);

/// Of a value a dimension those that stay.
[[nodiscard]] std::vector<index_t> kept(const Selection& selection,
                                        const std::vector<index_t>& values);

}  // namespace tessera::io
