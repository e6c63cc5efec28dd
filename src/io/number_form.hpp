#pragma once
// Numbers in the form that a dataset has them in, made from wider ones of this machine that are
// their values.

#include <cstddef>
#include <optional>

#include "io/dataset.hpp"

namespace tessera::io {

class NumberForm {
 public:
  /// Of a dataset of integers, also such that have names (numpy's bool among them), or of IEEE
  /// numbers, in either byte order, of the size of `element` or, where that has 4 bytes, of 1 or 2;
  /// nothing where it holds others, or some that are no values of `element`.
  [[nodiscard]] static std::optional<NumberForm> of(const DatasetName& name, Element element);

  /// Whether these are the bytes of the elements themselves.
  [[nodiscard]] bool is_as_held() const { return bytes_ == held_bytes_ && !swapped_; }
  [[nodiscard]] index_t bytes() const { return bytes_; }
  [[nodiscard]] index_t held_bytes() const { return held_bytes_; }
  /// to[0:n] = elements[0:n], which are values that the form has. No call of HDF5: by any thread.
  void convert(const std::byte* elements, index_t n, std::byte* to) const;

 private:
  bool real_ = false;
  index_t bytes_ = 0, held_bytes_ = 0;  // of a number
  bool swapped_ = false;                // its bytes, against this machine's
};

}  // namespace tessera::io
