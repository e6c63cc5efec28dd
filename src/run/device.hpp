#pragma once
// Host or GPU: what --device means at a point, for every workload with kernels for both.

#include <span>
#include <string>

#include "kernels/variant.hpp"
#include "machine/gpu.hpp"
#include "mpi/agreement.hpp"
#include "mpi/communicator.hpp"
#include "run/ceilings.hpp"
#include "run/options.hpp"

namespace tessera::run {

/// --device auto, cpu or gpu: what --kernel auto may take. A kernel that is named decides for
/// itself.
void add_device(OptionSet& options, const std::string& automatic =
                                        "the GPU where there is one with room for the problem");

/// --device-memory, where larger `problems` ("products") go through the device in pieces.
void add_device_memory(OptionSet& options, const std::string& problems);

/// What has to be known of a problem to find it a place.
struct DeviceRequest {
  std::string wanted = "auto";  ///< --device
  std::string kernel;           ///< the best one for a device; "" where the workload has none here
  index_t bytes = 0;            ///< of a device's memory, that a rank will need
  index_t sharing = 1;          ///< ranks that share a device
};

struct DeviceChoice {
  Space space = Space::host;
  std::string note;  ///< a line for the user; "" where there is nothing to say
};

/// `auto` takes the device where there is one with room for the problem. Where there is none it
/// says why only if the build has CUDA and the machine has the hardware: then a driver is missing
/// or too old, and somebody may wait for a GPU that never comes. A build without CUDA was meant so,
/// and most machines without a GPU will never have one: nobody wants to hear it with every run.
/// Throws Error(usage) for `gpu` without a device and Error(memory) where it has no room.
[[nodiscard]] DeviceChoice choose_device(const DeviceRequest& request, const machine::Gpus& gpus,
                                         index_t free_bytes, bool hardware);

/// Whether --kernel auto is a device kernel at this point, the same on every rank; the root says so
/// once, and the rank's device is made current. With --plan a GPU that is asked for need not be
/// there. Collective.
[[nodiscard]] bool takes_gpu(const mpi::Communicator& comm, const Values& point,
                             const std::string& kernel, index_t bytes);

/// Bytes of its device that every rank that drives one may take: those of --device-memory, or a
/// share of nine tenths of what is free; 0 where there is no device, and none are asked for.
/// Collective.
[[nodiscard]] index_t device_room(const mpi::Communicator& comm, const Values& point);

/// Makes this rank's device current for a kernel that was named, where it drives one (shares.hpp).
/// Throws Error(usage) on every rank where one has none. Collective.
void require_gpu(const mpi::Communicator& comm, const Values& point, const VariantInfo& kernel);

/// The same at the end of a plan: of the kernel that the ranks which run would take, or nullptr.
/// With --ranks others run elsewhere. Collective.
void require_planned_gpu(const mpi::Communicator& comm, const Values& point,
                         const VariantInfo* kernel);

/// The row that a point runs: the one that --kernel names, or the best of the device or the host;
/// best_device may be nullptr. Collective.
template <class Row>
[[nodiscard]] const Row& choose_kernel(const mpi::Communicator& comm, const Values& point,
                                       std::span<const Row> table, const Row& best_host,
                                       const Row* best_device, index_t bytes) {
  if (point.text("kernel") == "auto") {
    const std::string device(best_device == nullptr ? "" : best_device->name);
    return takes_gpu(comm, point, device, bytes) ? *best_device : best_host;
  }
  const Row& row = *find_variant(table, point.text("kernel"));
  mpi::together(comm, "plan", [&] { require_library(row); });
  if (row.space == Space::device && !point.flag("plan")) require_gpu(comm, point, row);
  return row;
}

/// For workloads that go to a device only where they are asked to: the row of a device that a point
/// runs, named by --kernel or the best one by --device gpu, or nullptr. bytes(): of the device's
/// memory, that a rank will need for the latter. Collective.
template <class Row, class Bytes>
[[nodiscard]] const Row* asked_device_kernel(const mpi::Communicator& comm, const Values& point,
                                             std::span<const Row> table, const Row* best_device,
                                             const Bytes& bytes) {
  if (point.text("kernel") == "auto") {
    if (point.text("device") != "gpu") return nullptr;
    const std::string name(best_device == nullptr ? "" : best_device->name);
    return takes_gpu(comm, point, name, bytes()) ? best_device : nullptr;
  }
  const Row* const row = find_variant(table, point.text("kernel"));
  if (row == nullptr || row->space != Space::device) return nullptr;
  if (!point.flag("plan")) require_gpu(comm, point, *row);
  return row;
}

/// The devices of this node where the request may use them, for provenance; nullptr where it does
/// not (its
/// --device is cpu, or it has nothing for GPUs).
[[nodiscard]] const machine::Gpus* concerned_gpus(const Parsed& parsed);

/// Of the options of GPUs that were given as flags those that nothing in the request has a use for,
/// as in
/// "--device-memory and --gpu-ranks"; empty where there are none. auto_takes_gpus: --device auto
/// takes a GPU where there is one.
[[nodiscard]] std::string idle_gpu_flags(const Parsed& parsed, bool auto_takes_gpus);

/// What the driver says of a device, in the form of ceilings: memory, clock, bandwidth of the bus,
/// ...
[[nodiscard]] std::vector<Ceiling> properties(const machine::Gpu& gpu);
/// The same in a line.
[[nodiscard]] std::string described(const machine::Gpu& gpu);

}  // namespace tessera::run
