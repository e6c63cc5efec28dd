#pragma once
// What a dataset's elements are, in a few words.

#include <hdf5.h>

#include <string>

namespace tessera::io {

/// "bitfield of 8 bits", "array of 3 x 2 f64", "compound {x f64, y i32}", "f32".
[[nodiscard]] std::string type_name(hid_t type);

/// "f64", "u16": of an integer or a float.
[[nodiscard]] std::string number_name(hid_t type);

/// The name of a compound's member.
[[nodiscard]] std::string member_name(hid_t compound, unsigned member);

/// Which member is the real part of a complex number (the other one is the imaginary); nothing
/// where the type is none: two floats of one type side by side, named r, re or real and i, im, imag
/// or imaginary, in either order.
enum class RealPart { none, first, second };
[[nodiscard]] RealPart real_part_of(hid_t type);

}  // namespace tessera::io
