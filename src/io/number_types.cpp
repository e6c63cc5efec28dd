#include "io/number_types.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "io/h5.hpp"

namespace tessera::inline v1::io {
namespace {

constexpr NumberBits integer(bool has_sign, std::size_t bytes) {
  NumberBits form;
  form.has_sign = has_sign;
  form.bytes = bytes;
  form.precision = 8 * bytes;
  return form;
}

/// Returns a float: sign, exponent and mantissa from the highest bit on.
constexpr NumberBits real(std::size_t exponent_bits, std::size_t mantissa_bits) {
  NumberBits form;
  form.real = true;
  form.bytes = (1 + exponent_bits + mantissa_bits) / 8;
  form.sign_at = exponent_bits + mantissa_bits;
  form.exponent_at = form.mantissa_bits = mantissa_bits;
  form.exponent_bits = exponent_bits;
  form.bias = (1L << (exponent_bits - 1)) - 1;
  return form;
}

constexpr NumberType table[] = {
    {"u8", integer(false, 1)},  {"i8", integer(true, 1)},   {"u16", integer(false, 2)},
    {"i16", integer(true, 2)},  {"u32", integer(false, 4)}, {"i32", integer(true, 4)},
    {"u64", integer(false, 8)}, {"i64", integer(true, 8)},  {"f16", real(5, 10)},
    {"f32", real(8, 23)},       {"f64", real(11, 52)},
};

Handle make_type(const NumberBits& form) {
  const auto check = [](herr_t result) {
    h5_check_rc(result, ExitCode::internal, "a number type cannot be made");
  };
  const hid_t like = form.real       ? H5T_NATIVE_DOUBLE
                     : form.has_sign ? H5T_NATIVE_INT64
                                     : H5T_NATIVE_UINT64;
  Handle type(h5_check(H5Tcopy(like), ExitCode::internal, "H5Tcopy"), H5Tclose);
  const bool wider = form.bytes > H5Tget_size(type);
  if (wider) check(H5Tset_size(type, form.bytes));
  if (wider) check(H5Tset_precision(type, 8 * form.bytes));
  if (form.real) {
    check(H5Tset_fields(type, form.sign_at, form.exponent_at, form.exponent_bits, form.mantissa_at,
                        form.mantissa_bits));
    check(H5Tset_ebias(type, static_cast<std::size_t>(form.bias)));
  }
  if (!wider) check(H5Tset_size(type, form.bytes));
  return type;
}

}  // namespace

std::span<const NumberType> number_types() { return table; }

const NumberType* find_number_type(std::string_view name) {
  const auto* const row = std::ranges::find(table, name, &NumberType::name);
  return row == std::end(table) ? nullptr : row;
}

std::vector<std::string> number_type_names() {
  std::vector<std::string> names;
  for (const NumberType& type : table) names.emplace_back(type.name);
  for (const ElementInfo& type : complex_elements) names.emplace_back(type.name);
  return names;
}

std::string number_name(const NumberBits& form) {
  NumberBits turned = form;
  turned.order = NumberBits::Order::little;
  const auto* const row = std::ranges::find(table, turned, &NumberType::form);
  if (row != std::end(table)) return std::string(row->name);
  return (form.real ? "f" : form.has_sign ? "i" : "u") + std::to_string(8 * form.bytes);
}

hid_t native_type(const NumberType& type) {
  static const auto types = [] {  // never closed: other static objects may outlive them
    std::array<hid_t, std::size(table)> made{};
    std::ranges::transform(table, made.begin(),
                           [](const NumberType& one) { return H5Tcopy(make_type(one.form)); });
    return made;
  }();
  return types[static_cast<std::size_t>(&type - table)];
}

}  // namespace tessera::inline v1::io
