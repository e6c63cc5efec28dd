#pragma once
// The ways in which devices of these ranks can exchange data here, for tests that take each in
// turn.

#include <gtest/gtest.h>

#include <cstdio>

#include "machine/gpu.hpp"
#include "mpi/agreement.hpp"
#include "mpi/device_exchange.hpp"

namespace tessera::mpi {

/// A build with CUDA on a machine without a device has nothing to try; one without CUDA takes the
/// host's memory for a device's.
inline bool devices_to_try() {
  const machine::Gpus& gpus = machine::gpus();
  return !gpus.built || !gpus.devices.empty();
}

/// Each way that can be had, found out once; the others are told of.
inline const std::vector<DeviceExchange>& ways_here() {
  static const auto* const found = [] {
    const Communicator comm = Communicator::world();
    auto* const ways =
        new std::vector<DeviceExchange>;  // as long as the program: MPI may be gone before it ends
    if (!machine::gpus().built) {
      for (const DeviceWay way : {DeviceWay::mpi, DeviceWay::staged}) ways->emplace_back(comm, way);
      return ways;
    }
    machine::use_gpu(comm.node().rank());
    for (const DeviceWay way : device_ways) {
      try {
        ways->push_back(DeviceExchange::choose(comm, std::string(name(way))));
      } catch (const Error& error) {
        if (comm.is_root()) std::printf("not tried: %s\n", error.what());
      }
    }
    return ways;
  }();
  return *found;
}

}  // namespace tessera::mpi
