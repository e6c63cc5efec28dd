#include "io/halves.hpp"

#include <cstdint>
#include <cstring>

#include "base/half.hpp"

namespace tessera::io {

bool is_half(hid_t type) {
  const Handle half = owned_type(Element::f16);
  if (H5Tequal(type, half) > 0) return true;
  const H5T_order_t own = H5Tget_order(half);
  h5_check_rc(H5Tset_order(half, own == H5T_ORDER_LE ? H5T_ORDER_BE : H5T_ORDER_LE), ExitCode::internal,
              "H5Tset_order");
  return H5Tequal(type, half) > 0;
}

void widen_halves(hid_t type, const std::byte* halves, index_t n, std::byte* to) {
  const bool swapped = H5Tget_order(type) != H5Tget_order(native_type(Element::f16));
  for (index_t i = 0; i < n; ++i) {
    std::uint16_t bits;
    std::memcpy(&bits, halves + i * index_t{sizeof(bits)}, sizeof(bits));
    const float value = half_value(swapped ? __builtin_bswap16(bits) : bits);
    std::memcpy(to + i * index_t{sizeof(value)}, &value, sizeof(value));
  }
}

}  // namespace tessera::io
