#pragma once
// Keys in rows that are held in memory as a dataset stores them.

#include <memory>
#include <optional>
#include <string>

#include "io/columns.hpp"
#include "io/h5.hpp"

namespace tessera::inline v1::io {

class StoredKey {
 public:
  /// Keys of a column: numbers, compared as `number`, or without it these bytes of each row,
  /// strings padded with zeros; the same as from read_numbers and read_bytes.
  StoredKey(const std::string& file, const Column& column, std::optional<Element> number,
            layout::Range bytes);
  /// Keys that flag missing numbers: 1 if missing, otherwise 0, as u32.
  StoredKey(const std::string& file, const Column& column, std::shared_ptr<const Packing> missing);

  /// Returns the bytes of a whole row of the dataset.
  [[nodiscard]] index_t row_bytes() const { return row_bytes_; }
  /// Returns the bytes of an element of the dataset, with all members.
  [[nodiscard]] index_t element_bytes() const { return from_element_; }
  [[nodiscard]] index_t key_bytes() const { return bytes_.size(); }
  /// Returns the offset of a key in its row, if it is stored as compared; none if it must be
  /// converted.
  [[nodiscard]] std::optional<index_t> offset() const;
  /// Converts to[0:n] = the keys of n rows. Calls HDF5: not thread-safe.
  void convert(const std::byte* rows, index_t n, std::byte* to) const;

 private:
  Handle stored_, wanted_;  // types of an element of the column
  index_t row_bytes_ = 0, elements_ = 1;
  index_t from_element_ = 0,
          begin_ = 0;    // stride of the elements, and offset in the first
  layout::Range bytes_;  // the key's bytes in the converted elements of the row
  std::shared_ptr<const Packing> missing_;
};

}  // namespace tessera::inline v1::io
