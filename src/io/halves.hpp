#pragma once
// Halves as they are stored: what becomes of them keeps every NaN, which the library's conversions do not.

#include <cstddef>

#include "io/h5.hpp"

namespace tessera::io {

/// Whether the type is that of IEEE halves, in either byte order.
[[nodiscard]] bool is_half(hid_t type);

/// to[0:n] = halves[0:n] of that type as f32 of this machine. They may lie in the upper half of what they
/// become.
void widen_halves(hid_t type, const std::byte* halves, index_t n, std::byte* to);

}  // namespace tessera::io
