#include "io/content.hpp"

#include <algorithm>
#include <cstring>

#include "base/hash.hpp"
#include "io/checksum.hpp"
#include "io/dataset.hpp"
#include "io/home_file.hpp"

namespace tessera::inline v1::io {
namespace {

/// The hash of one element, fed part by part.
class ElementHash {
 public:
  explicit ElementHash(hid_t loc) : loc_(loc) {}

  void add(hid_t type, const std::byte* at) {
    const H5T_class_t kind = H5Tget_class(type);
    if (kind == H5T_STRING && H5Tis_variable_str(type) > 0)
      add_string(at);
    else if (kind == H5T_VLEN)
      add_sequence(Handle(H5Tget_super(type), H5Tclose), at);
    else if (kind == H5T_ARRAY)
      add_array(type, at);
    else if (kind == H5T_COMPOUND)
      add_members(type, at);
    else if (kind == H5T_REFERENCE)
      add_reference(at);
    else
      add_bytes(at, H5Tget_size(type));
  }
  [[nodiscard]] std::uint64_t value() const { return hash_; }

 private:
  void add_word(std::uint64_t word) { hash_ = mix64(hash_ ^ word) + word; }
  void add_bytes(const std::byte* at, std::size_t bytes) {
    for (std::size_t b = 0; b < bytes; b += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, at + b, std::min<std::size_t>(8, bytes - b));
      add_word(word);
    }
  }
  void add_text(const char* text) {
    const std::size_t length = text == nullptr ? 0 : std::strlen(text);
    add_word(length);
    add_bytes(reinterpret_cast<const std::byte*>(text), length);
  }
  void add_string(const std::byte* at) {
    const char* text = nullptr;
    std::memcpy(&text, at, sizeof text);
    add_text(text);
  }
  void add_sequence(hid_t element, const std::byte* at) {
    hvl_t sequence{};
    std::memcpy(&sequence, at, sizeof sequence);
    add_word(sequence.len);
    const auto* const data = static_cast<const std::byte*>(sequence.p);
    for (std::size_t i = 0; i < sequence.len; ++i) add(element, data + i * H5Tget_size(element));
  }
  void add_array(hid_t type, const std::byte* at) {
    const Handle element(H5Tget_super(type), H5Tclose);
    const std::size_t bytes = H5Tget_size(element);
    for (std::size_t b = 0; b < H5Tget_size(type); b += bytes) add(element, at + b);
  }
  void add_members(hid_t type, const std::byte* at) {
    for (unsigned m = 0; m < static_cast<unsigned>(std::max(0, H5Tget_nmembers(type))); ++m)
      add(Handle(H5Tget_member_type(type, m), H5Tclose), at + H5Tget_member_offset(type, m));
  }
  /// The object at another address in a copied file has the same path.
  void add_reference(const std::byte* at) {
    hobj_ref_t reference{};
    std::memcpy(&reference, at, sizeof reference);
    if (reference == 0) return add_word(0);  // h5py's null reference
    const Handle object(H5Rdereference2(loc_, H5P_DEFAULT, H5R_OBJECT, &reference), H5Oclose);
    add_text(object >= 0 ? path_of(object).c_str() : nullptr);
  }

  hid_t loc_;
  std::uint64_t hash_ = 0;
};

}  // namespace

bool is_portable(hid_t type) {
  const H5T_class_t kind = H5Tget_class(type);
  if (kind == H5T_REFERENCE) return H5Tequal(type, H5T_STD_REF_OBJ) > 0;
  if (kind == H5T_VLEN || kind == H5T_ARRAY)
    return is_portable(Handle(H5Tget_super(type), H5Tclose));
  if (kind != H5T_COMPOUND) return true;
  const auto members = static_cast<unsigned>(std::max(0, H5Tget_nmembers(type)));
  for (unsigned m = 0; m < members; ++m)
    if (!is_portable(Handle(H5Tget_member_type(type, m), H5Tclose))) return false;
  return true;
}

std::uint64_t content_checksum(hid_t loc, hid_t type, std::span<const std::byte> data,
                               index_t first_element) {
  const auto bytes = static_cast<index_t>(H5Tget_size(type));
  if (is_self_contained(type)) return checksum(data, bytes, first_element);
  std::uint64_t sum = 0;
  for (index_t i = 0; i < ssize(data) / bytes; ++i) {
    ElementHash hash(loc);
    hash.add(type, data.data() + i * bytes);
    sum += hash_at(hash.value(), static_cast<std::uint64_t>(first_element + i));
  }
  return sum;
}

Elements::Elements(hid_t dataset, hid_t selected)
    : type_(H5Dget_type(dataset), H5Tclose),
      bytes_(static_cast<index_t>(H5Tget_size(type_))),
      count_(static_cast<index_t>(H5Sget_select_npoints(selected))) {
  const hsize_t count = static_cast<hsize_t>(count_);
  memory_ = Handle(H5Screate_simple(1, &count, nullptr), H5Sclose);
  data_.resize(static_cast<std::size_t>(checked_mul(count_, bytes_, "a dataset")));
  if (count_ > 0)
    h5_check_rc(H5Dread(dataset, type_, memory_, selected, H5P_DEFAULT, data_.data()),
                ExitCode::bad_data, path_of(dataset) + " cannot be read");
}

Elements::~Elements() {
  if (count_ > 0 && !is_self_contained(type_))
    H5Dvlen_reclaim(type_, memory_, H5P_DEFAULT, data_.data());
}

}  // namespace tessera::inline v1::io
