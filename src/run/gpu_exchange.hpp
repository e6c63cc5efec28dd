#pragma once
// Residence of data on the GPUs of a run and their transport (--gpu-exchange), selected once.

#include <map>
#include <string>

#include "mpi/device_exchange.hpp"
#include "run/options.hpp"

namespace tessera::inline v1::run {

/// Adds --gpu-exchange auto, ipc, nccl, mpi, staged or host.
void add_gpu_exchange(OptionSet& options);

/// Requirements for keeping a request's data on the devices.
struct Residence {
  index_t ranks = 1;            ///< ranks of the request; a plan may name others than there are
  bool possible = false;        ///< the kernel runs on a device and supports resident data
  index_t device_bytes = 0;     ///< device memory a rank needs
  index_t limit = 0;            ///< requested device memory; 0: the free memory
  bool saves_one_rank = false;  ///< resident data avoids bus transfers even on one rank
};

/// Transports used by the points of a run, each selected on first use.
class GpuExchanges {
 public:
  /// Returns the transport for data resident on the GPUs at this point; nullptr if the data stays
  /// on the host: on request, with `auto` for a single rank that pays for the bus either way, if
  /// the request or the memory does not permit residence, or in a plan without GPUs. Makes every
  /// rank's device current. Throws Error(usage) or Error(memory) on every rank if a named transport
  /// is unavailable. Collective.
  [[nodiscard]] const mpi::DeviceExchange* at(const mpi::Communicator& comm, const Values& point,
                                              const Residence& residence);

 private:
  [[nodiscard]] const mpi::DeviceExchange& find(const mpi::Communicator& comm,
                                                const std::string& wanted);
  std::map<std::string, mpi::DeviceExchange> found_;
};

}  // namespace tessera::inline v1::run
