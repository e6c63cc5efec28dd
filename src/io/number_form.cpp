#include "io/number_form.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/half.hpp"

namespace tessera::inline v1::io {
namespace {

template <class From, class To, class Make>
void convert_each(const std::byte* elements, index_t n, std::byte* to, const Make& make) {
  for (index_t i = 0; i < n; ++i) {
    From value;
    std::memcpy(&value, elements + i * index_t{sizeof(From)}, sizeof(From));
    const To number = make(value);
    std::memcpy(to + i * index_t{sizeof(To)}, &number, sizeof(To));
  }
}

/// Keeps the low bits: exact for values that fit, with or without a sign.
template <class To>
void cut_each(const std::byte* elements, index_t n, std::byte* to) {
  convert_each<std::uint32_t, To>(elements, n, to,
                                  [](std::uint32_t value) { return static_cast<To>(value); });
}

template <class Bits>
void swap_each(std::byte* numbers, index_t n) {
  convert_each<Bits, Bits>(numbers, n, numbers, [](Bits bits) -> Bits {
    if constexpr (sizeof(Bits) == 2) return __builtin_bswap16(bits);
    if constexpr (sizeof(Bits) == 4) return __builtin_bswap32(bits);
    if constexpr (sizeof(Bits) == 8) return __builtin_bswap64(bits);
  });
}

/// Converts to binary16; a signalling NaN stays signalling.
std::uint16_t exact_half(float value) {
  const auto word = __builtin_bit_cast(std::uint32_t, value), payload = word >> 13 & 0x3ffU;
  const bool is_nan = (word & 0x7fffffffU) > 0x7f800000U;
  return is_nan && payload != 0
             ? static_cast<std::uint16_t>((word >> 16 & 0x8000U) | 0x7c00U | payload)
             : half_bits(value);
}

/// Returns HDF5's type of such numbers in native byte order.
Handle native(bool real, bool has_sign, index_t bytes) {
  DatasetInfo info;
  info.kind = real ? DatasetInfo::Kind::real : DatasetInfo::Kind::integer;
  info.element_bytes = bytes;
  info.is_signed = has_sign;
  return number_type(info);
}

/// Returns the type with reversed byte order.
Handle swapped(Handle type) {
  const H5T_order_t own = H5Tget_order(type);
  h5_check_rc(H5Tset_order(type, own == H5T_ORDER_LE ? H5T_ORDER_BE : H5T_ORDER_LE),
              ExitCode::internal, "H5Tset_order");
  return type;
}

}  // namespace

std::optional<NumberForm> NumberForm::of(const DatasetName& name, Element element) {
  Handle stored = stored_type(name);
  if (H5Tget_class(stored) == H5T_ENUM)
    stored = Handle(h5_check(H5Tget_super(stored), name.text()), H5Tclose);
  const Handle held = owned_type(element);
  const H5T_class_t type_class = H5Tget_class(stored);
  if (type_class != H5Tget_class(held) || (type_class != H5T_FLOAT && type_class != H5T_INTEGER))
    return std::nullopt;
  NumberForm form;
  const bool real = type_class == H5T_FLOAT;
  const bool has_sign = !real && H5Tget_sign(held) == H5T_SGN_2;
  form.real_ = real;
  form.held_bytes_ = static_cast<index_t>(H5Tget_size(held));
  form.bytes_ = static_cast<index_t>(H5Tget_size(stored));
  const bool narrower = form.held_bytes_ == 4 && (form.bytes_ == 2 || (form.bytes_ == 1 && !real));
  if (!narrower && form.bytes_ != form.held_bytes_) return std::nullopt;
  Handle type = native(real, has_sign, form.bytes_);
  if (H5Tequal(stored, type) > 0) return form;
  form.swapped_ = true;
  return H5Tequal(stored, swapped(std::move(type))) > 0 ? std::optional(form) : std::nullopt;
}

void NumberForm::convert(const std::byte* elements, index_t n, std::byte* to) const {
  if (bytes_ == held_bytes_)
    std::copy_n(elements, n * bytes_, to);
  else if (real_)
    convert_each<float, std::uint16_t>(elements, n, to, exact_half);
  else
    (bytes_ == 1 ? cut_each<std::uint8_t> : cut_each<std::uint16_t>)(elements, n, to);
  if (!swapped_) return;
  if (bytes_ == 2) swap_each<std::uint16_t>(to, n);
  if (bytes_ == 4) swap_each<std::uint32_t>(to, n);
  if (bytes_ == 8) swap_each<std::uint64_t>(to, n);
}

}  // namespace tessera::inline v1::io
