#include "machine/occupancy.hpp"

namespace tessera::machine {

Occupancy occupancy(const DeviceFunction&) { throw Error(ExitCode::internal, gpus().reason); }

}  // namespace tessera::machine
