#pragma once
// Transports by which devices of these ranks can exchange data here, for tests that loop over them.

#include <gtest/gtest.h>

#include <cstdio>

#include "machine/gpu.hpp"
#include "mpi/agreement.hpp"
#include "mpi/device_exchange.hpp"

namespace tessera::mpi {

/// Returns the available transports, determined once; prints the reason for the others. Without a
/// device, host memory is substituted for a device's.
inline const std::vector<DeviceExchange>& transports_here() {
  static const auto* const found = [] {
    const Communicator comm = Communicator::world();
    auto* const transports = new std::vector<DeviceExchange>;  // never destroyed: MPI may be
                                                               // finalised before the program ends
    const auto try_one = [&](DeviceTransport transport) {
      try {
        transports->push_back(DeviceExchange::choose(comm, std::string(name(transport))));
      } catch (const Error& error) {
        if (comm.is_root()) std::printf("not tried: %s\n", error.what());
      }
    };
    if (machine::gpus().devices.empty()) {
      try_one(DeviceTransport::ipc);
      for (const DeviceTransport transport : {DeviceTransport::mpi, DeviceTransport::staged})
        transports->emplace_back(comm, transport);
      return transports;
    }
    machine::use_gpu(comm.node().rank());
    for (const DeviceTransport transport : device_transports) try_one(transport);
    return transports;
  }();
  return *found;
}

}  // namespace tessera::mpi
