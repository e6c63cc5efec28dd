#include "run/gpu_exchange.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.hpp"
#include "machine/gpu.hpp"
#include "mpi/agreement.hpp"

namespace tessera::inline v1::run {

void add_gpu_exchange(OptionSet& options) {
  auto transports = mpi::device_transport_names();
  transports.emplace_back("host");
  options.add({.name = "gpu-exchange",
               .kind = Kind::choice,
               .fallback = "auto",
               .help = "Select the transport between GPUs. ipc: peer memory within a node; nccl: "
                       "NCCL; mpi: GPU-aware MPI; staged: through the host; host: data does not "
                       "stay on the GPUs. auto: the first available, for several ranks.",
               .group = "Method",
               .choices = transports,
               .axis = true});
}

const mpi::DeviceExchange& GpuExchanges::find(const mpi::Communicator& comm,
                                              const std::string& wanted) {
  const auto known = found_.find(wanted);
  if (known != found_.end()) return known->second;
  return found_.emplace(wanted, mpi::DeviceExchange::choose(comm, wanted)).first->second;
}

const mpi::DeviceExchange* GpuExchanges::at(const mpi::Communicator& comm, const Values& point,
                                            const Residence& residence) {
  const std::string& wanted = point.text("gpu-exchange");
  const bool automatic = wanted == "auto";
  const bool alone = comm.size() == 1 && !residence.saves_one_rank;
  if (wanted == "host" || (automatic && (alone || !residence.possible))) return nullptr;
  mpi::together(comm, "device", [&] {
    require(residence.possible, ExitCode::usage,
            fmt::format(
                "--gpu-exchange {} needs a GPU kernel and a request that can stay on GPUs; drop it",
                wanted));
  });
  const auto devices = static_cast<index_t>(machine::gpus().devices.size());
  if (point.flag("plan") && (comm.max(-devices) == 0 || residence.ranks != comm.size()))
    return nullptr;
  const mpi::Communicator node = comm.node();
  const index_t sharing = ceil_div(index_t{node.size()}, std::max<index_t>(1, devices));
  index_t lacks = 0;
  mpi::together(comm, "device", [&] {
    machine::use_gpu(node.rank());
    const index_t room = machine::gpu_memory_limit(residence.limit);
    lacks = residence.device_bytes - (residence.limit > 0 ? room : room / sharing);
  });
  lacks = comm.max(lacks);
  if (lacks > 0 && automatic) return nullptr;
  mpi::together(comm, "device", [&] {
    require(lacks <= 0, ExitCode::memory,
            fmt::format("--gpu-exchange {} keeps the data on the GPUs, where a rank lacks {}; use "
                        "more GPUs, or --gpu-exchange host",
                        wanted, human_bytes(lacks)));
  });
  return &find(comm, wanted);
}

}  // namespace tessera::inline v1::run
