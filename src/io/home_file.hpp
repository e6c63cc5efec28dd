#pragma once
// The file that contains an object: external links lead out of the file that was opened.

#include <hdf5.h>

#include <string>

namespace tessera::inline v1::io {

/// Returns the name under which an object's file was opened; empty if unknown.
[[nodiscard]] inline std::string home_of(hid_t object) {
  const auto length = H5Fget_name(object, nullptr, 0);
  std::string text(length < 0 ? 0 : static_cast<std::size_t>(length), '\0');
  H5Fget_name(object, text.data(), text.size() + 1);
  return text;
}

/// Returns the path under which an object was opened; empty if unknown.
[[nodiscard]] inline std::string path_of(hid_t object) {
  const auto length = H5Iget_name(object, nullptr, 0);
  std::string text(length < 0 ? 0 : static_cast<std::size_t>(length), '\0');
  H5Iget_name(object, text.data(), text.size() + 1);
  return text;
}

/// Returns whether the dataset's bytes are in that file, so that its offset applies to it.
[[nodiscard]] inline bool is_in_file(hid_t dataset, hid_t file) {
  const std::string home = home_of(dataset);
  return !home.empty() && home == home_of(file);
}

}  // namespace tessera::inline v1::io
