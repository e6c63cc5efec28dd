#pragma once
// Rows stored contiguously in their memory format: read without HDF5, and so by any thread.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/columns.hpp"

namespace tessera::inline v1::io {

/// The rows of one dataset, or of several with equally many.
class PlainRows {
 public:
  /// Returns the numbers of a column; none if they are stored otherwise: chunked, in a compound, or
  /// in another type.
  [[nodiscard]] static std::optional<PlainRows> of(const std::string& file, const Column& column,
                                                   Element element);
  /// Returns the rows of whole datasets as stored; none if one is not contiguous in the file.
  [[nodiscard]] static std::optional<PlainRows> stored(const std::string& file,
                                                       const std::vector<Column>& columns);

  /// Reads rows of the c-th dataset into to[c][0 : rows.size()], in steps of `at_once` rows; calls
  /// `arrived` with the rows of each step. Throws Error(io).
  void read(layout::Range rows, std::span<std::byte* const> to, index_t at_once,
            const std::function<void(layout::Range)>& arrived) const;
  /// Prefetches rows: a hint.
  void will_read(layout::Range rows) const;

 private:
  struct RowLayout {
    index_t offset, row_bytes;
  };
  std::string file_;  // no link
  std::vector<RowLayout> places_;
};

}  // namespace tessera::inline v1::io
