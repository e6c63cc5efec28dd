#pragma once
// Whether data stays on the GPUs of a run, and how it goes from one to another: --gpu-exchange,
// found out once.

#include <map>
#include <string>

#include "mpi/device_exchange.hpp"
#include "run/options.hpp"

namespace tessera::run {

/// --gpu-exchange auto, ipc, nccl, mpi, staged or host.
void add_gpu_exchange(OptionSet& options);

/// What has to be known of a request to leave its data on the devices.
struct Residence {
  index_t ranks = 1;            ///< that it is for; a plan may be for others than there are
  bool possible = false;        ///< its kernel is a device's, and can work on what stays there
  index_t device_bytes = 0;     ///< that a rank would take
  index_t limit = 0;            ///< of them, asked for; 0: what is free
  bool saves_one_rank = false;  ///< the way over the bus: the host would have the data come and go
};

/// The ways that points of a run ask for, each looked for when it first is.
class GpuExchanges {
 public:
  /// How the ranks exchange what stays on their GPUs at this point; nullptr where data lives on the
  /// host instead: wanted so, or with `auto` for one rank that would pay the bus either way, or
  /// where request or memory do not allow it, and for a plan where there are no GPUs. Every rank's
  /// device is current. Throws Error(usage) or Error(memory) on every rank where a named way cannot
  /// be had. Collective.
  [[nodiscard]] const mpi::DeviceExchange* at(const mpi::Communicator& comm, const Values& point,
                                              const Residence& residence);

 private:
  [[nodiscard]] const mpi::DeviceExchange& find(const mpi::Communicator& comm,
                                                const std::string& wanted);
  std::map<std::string, mpi::DeviceExchange> found_;
};

}  // namespace tessera::run
