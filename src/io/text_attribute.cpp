#include "io/text_attribute.hpp"

#include <cstring>

namespace tessera::inline v1::io {
namespace {

std::vector<std::string> read_pointers(hid_t attribute, hid_t type, std::size_t count) {
  std::vector<char*> pointers(count, nullptr);
  if (H5Aread(attribute, type, static_cast<void*>(pointers.data())) < 0) return {};
  std::vector<std::string> texts;
  for (char* const text : pointers) {
    texts.emplace_back(text == nullptr ? "" : text);
    H5free_memory(text);
  }
  return texts;
}

std::vector<std::string> read_padded(hid_t attribute, hid_t type, std::size_t count) {
  const std::size_t length = H5Tget_size(type);
  std::vector<char> bytes(count * length);
  if (H5Aread(attribute, type, bytes.data()) < 0) return {};
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i)
    texts.emplace_back(bytes.data() + i * length, strnlen(bytes.data() + i * length, length));
  return texts;
}

}  // namespace

std::optional<std::vector<std::string>> texts_of(hid_t object, const std::string& name) {
  if (!has_attribute(object, name)) return std::nullopt;
  const Handle attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose);
  const Handle type(H5Aget_type(attribute), H5Tclose), space(H5Aget_space(attribute), H5Sclose);
  const hssize_t count = H5Sget_simple_extent_npoints(space);
  if (H5Tget_class(type) != H5T_STRING || count < 1 ||
      (count > 1 && H5Sget_simple_extent_ndims(space) > 1))
    return std::nullopt;
  const auto n = static_cast<std::size_t>(count);
  return H5Tis_variable_str(type) > 0 ? read_pointers(attribute, type, n)
                                      : read_padded(attribute, type, n);
}

std::string text_of(hid_t object, const std::string& name) {
  const auto texts = texts_of(object, name);
  return texts && texts->size() == 1 ? texts->front() : std::string();
}

void write_texts(hid_t object, const std::string& name, const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  const hsize_t count = pointers.size();
  const Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose), type = text_type();
  write_attribute(object, name, space, type, type, pointers.data());
}

}  // namespace tessera::inline v1::io
