#pragma once
// Rows that lie in a file as they are held in memory, one after the other: they are read without
// HDF5, and so by any thread.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/columns.hpp"

namespace tessera::io {

/// Of one dataset, or of several that have equally many.
class PlainRows {
 public:
  /// Numbers of a column; nothing where they are stored otherwise: in chunks, in a compound, as
  /// other numbers.
  [[nodiscard]] static std::optional<PlainRows> of(const std::string& file, const Column& column,
                                                   Element element);
  /// Rows of whole datasets as they are stored; nothing where one is in chunks.
  [[nodiscard]] static std::optional<PlainRows> stored(const std::string& file,
                                                       const std::vector<Column>& columns);

  /// to[c][0 : rows.size()] = rows of the c-th one, `at_once` after the other; `arrived` is told of
  /// the rows that are there. Throws Error(io).
  void read(layout::Range rows, std::span<std::byte* const> to, index_t at_once,
            const std::function<void(layout::Range)>& arrived) const;
  /// A hint: the device may begin now.
  void will_read(layout::Range rows) const;

 private:
  struct RowLayout {
    index_t offset, row_bytes;
  };
  std::string file_;  // no link
  std::vector<RowLayout> places_;
};

}  // namespace tessera::io
