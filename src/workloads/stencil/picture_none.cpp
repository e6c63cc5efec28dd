#include "base/error.hpp"
#include "workloads/stencil/picture.hpp"

namespace tessera::workloads {

bool writes_pictures() { return false; }

void write_picture(const std::string&, const Picture&) {
  throw Error(ExitCode::usage,
              "this build draws no pictures (libpng was not found); install libpng-dev and build again");
}

}  // namespace tessera::workloads
