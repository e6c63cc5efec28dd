#pragma once
// Elements with parts of variable length, and references: held in memory by pointers, so that their
// content is not their bytes.

#include <cstdint>
#include <span>

#include "io/dataset.hpp"
#include "io/h5.hpp"

namespace tessera::inline v1::io {

/// Returns whether elements of the type can be copied to another file: they have no references to
/// regions, and no parts of classes that this version does not know.
[[nodiscard]] bool is_portable(hid_t type);

/// Returns the checksum of elements as H5Dread returns them in memory of the dataset's type. Equals
/// checksum() for self-contained ones; in others, strings and sequences enter by length and
/// content, references by the path of their object. `loc` is any object of the file.
[[nodiscard]] std::uint64_t content_checksum(hid_t loc, hid_t type, std::span<const std::byte> data,
                                             index_t first_element);

/// Elements read from a dataset, whose parts of variable length the object owns.
class Elements {
 public:
  /// Reads the selected elements in the dataset's type. Throws Error(bad_data).
  Elements(hid_t dataset, hid_t selected);
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;
  ~Elements();

  [[nodiscard]] hid_t type() const { return type_; }
  [[nodiscard]] index_t bytes() const { return bytes_; }  ///< of an element
  [[nodiscard]] index_t count() const { return count_; }
  [[nodiscard]] std::span<const std::byte> data() const { return data_; }

 private:
  Handle type_, memory_;
  index_t bytes_ = 0, count_ = 0;
  std::vector<std::byte> data_;
};

}  // namespace tessera::inline v1::io
