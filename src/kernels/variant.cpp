#include "kernels/variant.hpp"

namespace tessera {

std::string_view name(Space space) { return space == Space::host ? "host" : "device"; }

}  // namespace tessera
