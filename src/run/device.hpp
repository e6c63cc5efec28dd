#pragma once
// Choice between host and GPU (--device) at a point, for workloads with kernels for both.

#include <span>
#include <string>

#include "kernels/variant.hpp"
#include "machine/gpu.hpp"
#include "mpi/agreement.hpp"
#include "mpi/communicator.hpp"
#include "run/ceilings.hpp"
#include "run/options.hpp"

namespace tessera::inline v1::run {

/// Adds --device auto, cpu or gpu, which restricts --kernel auto; a named kernel implies its
/// device.
void add_device(OptionSet& options,
                const std::string& automatic = "the GPU where the problem fits");

/// Adds --device-memory, for workloads that stream larger `problems` ("products") through the
/// device in pieces.
void add_device_memory(OptionSet& options, const std::string& problems);

/// Requirements of a problem on a device.
struct DeviceRequest {
  std::string wanted = "auto";  ///< --device
  std::string kernel;           ///< the device's best kernel; "" if the workload has none
  index_t bytes = 0;            ///< device memory a rank needs
  index_t sharing = 1;          ///< ranks per device
};

struct DeviceChoice {
  Space space = Space::host;
  std::string note;  ///< message for the user; "" if none
};

/// Chooses the device for `auto` if there is one with room for the problem. Without one, the note
/// gives the reason only if the build has CUDA and the machine has the hardware: then a driver is
/// missing or too old. Other builds and machines run on the host by design, silently. Throws
/// Error(usage) for `gpu` without a device and Error(memory) if its memory does not suffice.
[[nodiscard]] DeviceChoice choose_device(const DeviceRequest& request, const machine::Gpus& gpus,
                                         index_t free_bytes, bool hardware);

/// Returns whether --kernel auto is a device kernel at this point, the same on every rank; the root
/// prints the reason once, and the rank's device becomes current. With --plan, --device gpu does
/// not require a GPU. Collective.
[[nodiscard]] bool takes_gpu(const mpi::Communicator& comm, const Values& point,
                             const std::string& kernel, index_t bytes);

/// Returns the device memory that each rank driving one may use, bytes: --device-memory, or its
/// share of nine tenths of the free memory; 0 without a device if --device-memory is not given.
/// Collective.
[[nodiscard]] index_t device_room(const mpi::Communicator& comm, const Values& point);

/// Makes this rank's device current for a named kernel if the rank drives one (shares.hpp). Throws
/// Error(usage) on every rank if one of them lacks a device. Collective.
void require_gpu(const mpi::Communicator& comm, const Values& point, std::string_view kernel);

/// Calls require_gpu() at the end of a plan, if a rank would run a device kernel; does nothing with
/// --ranks, a plan for other machines. kernel: what this rank would run, or nullptr. Collective.
void require_planned_gpu(const mpi::Communicator& comm, const Values& point,
                         const VariantInfo* kernel);

/// The kernels of a workload.
template <class Row>
struct Kernels {
  std::span<const Row> table;
  const Row& best_host;
  const Row* best_device = nullptr;  ///< nullptr: none
};

/// Returns the row that a point runs: the one named by --kernel, or the best of the device or the
/// host. Collective.
template <class Row>
[[nodiscard]] const Row& choose_kernel(const mpi::Communicator& comm, const Values& point,
                                       const Kernels<Row>& kernels, index_t bytes) {
  if (point.text("kernel") == "auto") {
    const std::string device(kernels.best_device == nullptr ? "" : kernels.best_device->name);
    return takes_gpu(comm, point, device, bytes) ? *kernels.best_device : kernels.best_host;
  }
  const Row& row = *find_variant(kernels.table, point.text("kernel"));
  mpi::together(comm, "plan", [&] { require_library(row); });
  if (row.space == Space::device && !point.flag("plan")) require_gpu(comm, point, row.name);
  return row;
}

/// Returns the device row that a point runs, for workloads that use a device only on request: named
/// by --kernel, or the best one with --device gpu; else nullptr. bytes() gives the device memory
/// that a rank needs for the latter. Collective.
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
  if (!point.flag("plan")) require_gpu(comm, point, row->name);
  return row;
}

/// Returns this node's devices if the request may use them, for provenance; nullptr if it cannot
/// (--device cpu, or no options of GPUs).
[[nodiscard]] const machine::Gpus* concerned_gpus(const Parsed& parsed);

/// Returns the GPU options given as flags that no part of the request uses, as "--device-memory and
/// --gpu-ranks"; empty if all are used. auto_takes_gpus: --device auto selects a GPU if there is
/// one.
[[nodiscard]] std::string idle_gpu_flags(const Parsed& parsed, bool auto_takes_gpus);

/// Returns the driver's figures of a device as ceilings: memory, clock, bus bandwidth, ...
[[nodiscard]] std::vector<Ceiling> properties(const machine::Gpu& gpu);
/// Returns them as one line of text.
[[nodiscard]] std::string described(const machine::Gpu& gpu);
/// A subject of a device query and what the driver reports.
struct Reported {
  std::string subject, text;
};
/// Returns the limits of a block and a multiprocessor, the memories and the abilities of a device.
[[nodiscard]] std::vector<Reported> device_query(const machine::Gpu& gpu);

}  // namespace tessera::inline v1::run
