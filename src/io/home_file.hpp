#pragma once
// Which file an object lies in: an external link leads out of the one that was opened.

#include <hdf5.h>

#include <string>

namespace tessera::io {

/// The name by which the file of an object was opened; empty where it cannot be told.
[[nodiscard]] inline std::string home_of(hid_t object) {
  const auto length = H5Fget_name(object, nullptr, 0);
  std::string text(length < 0 ? 0 : static_cast<std::size_t>(length), '\0');
  H5Fget_name(object, text.data(), text.size() + 1);
  return text;
}

/// Whether the dataset's bytes lie in that file, so that its offset is one in there.
[[nodiscard]] inline bool lies_in(hid_t dataset, hid_t file) {
  const std::string home = home_of(dataset);
  return !home.empty() && home == home_of(file);
}

}  // namespace tessera::io
