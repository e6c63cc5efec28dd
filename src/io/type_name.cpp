#include "io/type_name.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "io/conversion.hpp"
#include "io/h5.hpp"
#include "io/number_types.hpp"

namespace tessera::inline v1::io {
namespace {

constexpr unsigned most_members = 4;  // that are listed

std::string list_of_members(hid_t type) {
  const auto count = static_cast<unsigned>(std::max(0, H5Tget_nmembers(type)));
  std::vector<std::string> words;
  for (unsigned m = 0; m < std::min(count, most_members); ++m) {
    const std::string name = member_name(type, m);
    words.push_back(H5Tget_class(type) == H5T_ENUM
                        ? name
                        : name + " " + type_name(Handle(H5Tget_member_type(type, m), H5Tclose)));
  }
  if (count > most_members) words.push_back(fmt::format("{} more", count - most_members));
  return fmt::format("{{{}}}", fmt::join(words, ", "));
}

std::string array_name(hid_t type) {
  std::array<hsize_t, H5S_MAX_RANK> extents{};
  const int rank = std::max(0, H5Tget_array_dims2(type, extents.data()));
  return fmt::format("array of {} {}", fmt::join(extents.begin(), extents.begin() + rank, " x "),
                     type_name(Handle(H5Tget_super(type), H5Tclose)));
}

bool is_one_of(std::string word, std::initializer_list<const char*> words) {
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

std::string member_name(hid_t compound, unsigned member) {
  char* const text = H5Tget_member_name(compound, member);
  std::string name = text == nullptr ? "" : text;
  H5free_memory(text);
  return name;
}

std::string number_name(hid_t type) {
  if (const auto form = number_bits_of(type)) return number_name(*form);
  const bool real = H5Tget_class(type) == H5T_FLOAT;
  return (real                             ? "f"
          : H5Tget_sign(type) == H5T_SGN_2 ? "i"
                                           : "u") +
         std::to_string(8 * H5Tget_size(type));
}

std::string type_name(hid_t type) {
  const std::size_t bytes = H5Tget_size(type);
  const H5T_class_t kind = H5Tget_class(type);
  if (kind == H5T_INTEGER || kind == H5T_FLOAT) return number_name(type);
  if (kind == H5T_STRING)
    return H5Tis_variable_str(type) > 0 ? "string of variable length"
                                        : fmt::format("string of {} bytes", bytes);
  if (kind == H5T_BITFIELD) return fmt::format("bitfield of {} bits", 8 * bytes);
  if (kind == H5T_TIME) return fmt::format("time of {} bits", 8 * bytes);
  if (kind == H5T_OPAQUE) return fmt::format("opaque of {} bytes", bytes);
  if (kind == H5T_REFERENCE) return "reference";
  if (kind == H5T_ENUM) return "enumeration " + list_of_members(type);
  if (kind == H5T_COMPOUND) return "compound " + list_of_members(type);
  if (kind == H5T_ARRAY) return array_name(type);
  if (kind == H5T_VLEN)
    return "variable-length list of " + type_name(Handle(H5Tget_super(type), H5Tclose));
  return fmt::format("{} bytes of another kind", bytes);
}

RealPart real_part_of(hid_t type) {
  if (H5Tget_class(type) != H5T_COMPOUND || H5Tget_nmembers(type) != 2) return RealPart::none;
  const Handle first(H5Tget_member_type(type, 0), H5Tclose),
      second(H5Tget_member_type(type, 1), H5Tclose);
  const std::size_t half = H5Tget_size(first);
  if (H5Tget_class(first) != H5T_FLOAT || H5Tequal(first, second) <= 0 ||
      H5Tget_size(type) != 2 * half || H5Tget_member_offset(type, 0) != 0)
    return RealPart::none;
  const auto is_real = [&](unsigned m) {
    return is_one_of(member_name(type, m), {"r", "re", "real"});
  };
  const auto is_imaginary = [&](unsigned m) {
    return is_one_of(member_name(type, m), {"i", "im", "imag", "imaginary"});
  };
  return is_real(0) && is_imaginary(1)   ? RealPart::first
         : is_imaginary(0) && is_real(1) ? RealPart::second
                                         : RealPart::none;
}

}  // namespace tessera::inline v1::io
