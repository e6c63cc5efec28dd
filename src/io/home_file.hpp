#pragma once
// Which file an object lies in: an external link leads out of the one that was opened.

#include <hdf5.h>

#include <string>

namespace tessera::io {

/// Whether the dataset's bytes lie in that file, so that its offset is one in there.
[[nodiscard]] inline bool lies_in(hid_t dataset, hid_t file) {
  const auto name = [](hid_t object) {
    const auto length = H5Fget_name(object, nullptr, 0);
    std::string text(length < 0 ? 0 : static_cast<std::size_t>(length), '\0');
    H5Fget_name(object, text.data(), text.size() + 1);
    return text;
  };
  const std::string home = name(dataset);
  return !home.empty() && home == name(file);  // empty: it cannot be told
}

}  // namespace tessera::io
