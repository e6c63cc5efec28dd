#pragma once
// Keys inside of rows that lie in memory as a dataset stores them.

#include <memory>
#include <optional>
#include <string>

#include "io/columns.hpp"
#include "io/h5.hpp"

namespace tessera::io {

class StoredKey {
 public:
  /// Of a column whose rows are numbers, compared as `number`; without one of those bytes of each
  /// row, strings padded with zeros. As read_numbers and read_bytes give them.
  StoredKey(const std::string& file, const Column& column, std::optional<Element> number,
            layout::Range bytes);
  /// Whether numbers are missing: 1 or 0, as u32.
  StoredKey(const std::string& file, const Column& column, std::shared_ptr<const Packing> missing);

  /// Of a row of the dataset, whole.
  [[nodiscard]] index_t row_bytes() const { return row_bytes_; }
  /// Of an element of the dataset, all members.
  [[nodiscard]] index_t element_bytes() const { return from_element_; }
  [[nodiscard]] index_t key_bytes() const { return bytes_.size(); }
  /// Where in its row a key lies as it is compared; nothing where it has to be converted.
  [[nodiscard]] std::optional<index_t> offset() const;
  /// to[0:n] = the keys of n rows. By one thread at a time, the one that calls HDF5.
  void convert(const std::byte* rows, index_t n, std::byte* to) const;

 private:
  Handle stored_, wanted_;  // types of an element of the column
  index_t row_bytes_ = 0, elements_ = 1;
  index_t from_element_ = 0,
          begin_ = 0;    // bytes from one element to the next, and before the first
  layout::Range bytes_;  // of the row's elements as they are wanted
  std::shared_ptr<const Packing> missing_;
};

}  // namespace tessera::io
