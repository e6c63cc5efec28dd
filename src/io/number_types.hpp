#pragma once
// The named number types of files. Every other integer or float is read by its format alone
// (number_bits.hpp).

#include <hdf5.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/number_bits.hpp"

namespace tessera::inline v1::io {

struct NumberType {
  std::string_view name;  ///< in --type, outputs and messages
  NumberBits form;        ///< in little-endian byte order
};

/// Returns the table. A new type is one row, and what decode() and encode() must know if it is
/// neither an integer nor a float as IEEE 754 defines them.
[[nodiscard]] std::span<const NumberType> number_types();
/// Returns the row of that name, or nullptr.
[[nodiscard]] const NumberType* find_number_type(std::string_view name);
/// Returns the names of the types, then those of complex numbers.
[[nodiscard]] std::vector<std::string> number_type_names();

/// Returns the name of a format in any byte order: that of the table, else its letter and bits,
/// "f80", "u24".
[[nodiscard]] std::string number_name(const NumberBits& form);

/// Returns HDF5's type of these numbers in the byte order of this machine. Borrowed.
[[nodiscard]] hid_t native_type(const NumberType& type);

}  // namespace tessera::inline v1::io
