#include "base/error.hpp"
#include "picture.hpp"

namespace tessera::apps {

bool writes_pictures() { return false; }

void write_picture(const std::string&, const Picture&) {
  throw Error(ExitCode::usage,
              "this build draws no pictures (libpng was not found); install libpng-dev and build again");
}

}  // namespace tessera::apps
