#pragma once
// The four workloads, small enough for hundreds of ranks in one process.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "mpi/communicator.hpp"
#include "mpi/network.hpp"

namespace tessera::smpi {

struct Outcome {
  bool right = false;        ///< according to the program's own check of the result
  std::uint64_t digest = 0;  ///< of the result: the same on any number of ranks
};

/// Run of a workload on some ranks. work() is timed and counted.
struct Run {
  std::function<void()> work;
  std::function<Outcome()> check;
  std::function<double()> predicted;  ///< seconds of its communication, by the plan's model
};

struct Workload {
  std::string name;
  std::function<Run(const mpi::Communicator&, const mpi::Network&)> prepare;
};

[[nodiscard]] const std::vector<Workload>& workloads();

}  // namespace tessera::smpi
