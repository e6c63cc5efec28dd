#include "run/device.hpp"

#include <fmt/format.h>

#include "machine/gpu.hpp"
#include "mpi/agreement.hpp"

namespace tessera::run {

void require_device(const mpi::Communicator& comm, const VariantInfo& kernel) {
  if (kernel.space != Space::device) return;
  const int local_rank = comm.node().rank();
  mpi::together(comm, "plan", [&] {
    const machine::Gpus gpus = machine::gpus();
    require(
        !gpus.devices.empty(), ExitCode::usage,
        fmt::format("kernel {} needs a GPU and there is none here ({}); use a host kernel or another machine",
                    kernel.name, gpus.reason));
    machine::choose_gpu(local_rank);
  });
}

}  // namespace tessera::run
