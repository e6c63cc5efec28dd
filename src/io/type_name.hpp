#pragma once
// Short descriptions of the element types of datasets.

#include <hdf5.h>

#include <string>

namespace tessera::inline v1::io {

/// Describes a type: "bitfield of 8 bits", "array of 3 x 2 f64", "compound {x f64, y i32}", "f32".
[[nodiscard]] std::string type_name(hid_t type);

/// Describes an integer or float type: "f64", "u16".
[[nodiscard]] std::string number_name(hid_t type);

/// Returns the name of a compound's member.
[[nodiscard]] std::string member_name(hid_t compound, unsigned member);

/// The member that is the real part of a complex number (the other one is the imaginary part); none
/// for other types. Complex are two adjacent floats of one type, named r, re or real and i, im,
/// imag or imaginary, in either order.
enum class RealPart { none, first, second };
[[nodiscard]] RealPart real_part_of(hid_t type);

}  // namespace tessera::inline v1::io
