#pragma once
// Pictures as PNG files, where libpng was there when the program was built.

#include <cstdint>
#include <string>
#include <vector>

#include "base/index.hpp"

namespace tessera::workloads {

/// Rows from top to bottom, three bytes (red, green, blue) a pixel.
struct Picture {
  index_t width = 0, height = 0;
  std::vector<std::uint8_t> rgb;
};

[[nodiscard]] bool writes_pictures();
/// Whole or not at all. Serial; throws Error(cannot_create).
void write_picture(const std::string& file, const Picture& picture);

}  // namespace tessera::workloads
