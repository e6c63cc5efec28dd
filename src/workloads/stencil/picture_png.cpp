#include <fmt/format.h>
#include <png.h>

#include "base/error.hpp"
#include "io/partials.hpp"
#include "io/raw_file.hpp"
#include "workloads/stencil/picture.hpp"

namespace tessera::workloads {

bool writes_pictures() { return true; }

void write_picture(const std::string& file, const Picture& picture) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.width);
  image.height = static_cast<png_uint_32>(picture.height);
  image.format = PNG_FORMAT_RGB;
  const std::string partial = io::partial_name(file);
  io::create_new_file(partial);
  const bool written =
      png_image_write_to_file(&image, partial.c_str(), 0, picture.rgb.data(), 0, nullptr) != 0;
  if (!written) io::discard_partial(partial);
  require(written, ExitCode::cannot_create,
          fmt::format("cannot write '{}' ({}); see whether there is space for it", file, image.message));
  io::publish_file(partial, file);
}

}  // namespace tessera::workloads
