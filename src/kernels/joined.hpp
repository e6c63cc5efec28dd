#pragma once
// Tables of several parts.

#include <vector>

namespace tessera::inline v1 {

/// Returns the rows of a table followed by more of them.
template <class Row>
[[nodiscard]] std::vector<Row> joined(std::vector<Row> rows, const std::vector<Row>& more) {
  rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

}  // namespace tessera::inline v1
