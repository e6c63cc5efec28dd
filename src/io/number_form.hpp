#pragma once
// Exact conversion of native numbers to the form of a dataset with narrower or byte-swapped ones.

#include <cstddef>
#include <optional>

#include "io/dataset.hpp"

namespace tessera::inline v1::io {

class NumberForm {
 public:
  /// Returns the form of a dataset of integers, including enumerations (numpy's bool among them),
  /// or of IEEE numbers, in either byte order, of the size of `element` or, if that is 4 bytes, of
  /// 1 or 2; none for other datasets, and for numbers that `element` does not hold.
  [[nodiscard]] static std::optional<NumberForm> of(const DatasetName& name, Element element);

  /// Returns whether the form is the memory format of the elements.
  [[nodiscard]] bool is_as_held() const { return bytes_ == held_bytes_ && !swapped_; }
  [[nodiscard]] index_t bytes() const { return bytes_; }
  [[nodiscard]] index_t held_bytes() const { return held_bytes_; }
  /// Converts to[0:n] = elements[0:n]; precondition: the form holds their values. No HDF5 calls:
  /// thread-safe.
  void convert(const std::byte* elements, index_t n, std::byte* to) const;

 private:
  bool real_ = false;
  index_t bytes_ = 0, held_bytes_ = 0;  // per number
  bool swapped_ = false;                // relative to native byte order
};

}  // namespace tessera::inline v1::io
