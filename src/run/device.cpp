#include "run/device.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <set>

#include "base/note.hpp"
#include "base/text.hpp"
#include "mpi/agreement.hpp"
#include "run/shares.hpp"

namespace tessera::inline v1::run {
namespace {

/// Prints a note once per run: the points of a sweep repeat it.
void print_once(const mpi::Communicator& comm, const std::string& note) {
  static std::set<std::string> printed;
  if (note.empty() || !comm.is_root() || !printed.insert(note).second) return;
  print_note(note);
}

}  // namespace

void add_device(OptionSet& options, const std::string& automatic) {
  options.add({.name = "device",
               .kind = Kind::choice,
               .fallback = "auto",
               .help = "Select the device of --kernel auto. auto: " + automatic +
                       ". A named kernel determines the device itself.",
               .group = "Method",
               .choices = {"auto", "cpu", "gpu"},
               .axis = true});
}

void add_device_memory(OptionSet& options, const std::string& problems) {
  options.add({.name = "device-memory",
               .kind = Kind::bytes,
               .fallback = "0",
               .help = "Limit the GPU memory of a rank. Larger " + problems +
                       " are streamed through it in pieces; 0: the free memory.",
               .group = "Machine",
               .axis = true,
               .differs = true,
               .low = 0});
}

DeviceChoice choose_device(const DeviceRequest& request, const machine::Gpus& gpus,
                           index_t free_bytes, bool hardware) {
  if (request.wanted == "cpu") return {};
  const bool must = request.wanted == "gpu";
  if (gpus.devices.empty()) {
    require(!must, ExitCode::usage,
            fmt::format(
                "--device gpu needs a GPU: none is available ({}); drop it, or use another machine",
                gpus.reason));
    if (!gpus.built || !hardware || request.kernel.empty()) return {};
    return {
        Space::host,
        fmt::format("device: cpu (a GPU exists but cannot be used: {}; --device cpu silences this)",
                    gpus.reason)};
  }
  if (request.kernel.empty()) {
    require(!must, ExitCode::usage,
            "--device gpu has no kernel to run for this request (see tessera list); drop it");
    return {};
  }
  // A tenth stays free for libraries and the device itself.
  const index_t room = free_bytes / 10 * 9 / std::max<index_t>(1, request.sharing);
  const std::string& name = gpus.devices.front().name;
  if (request.bytes > room) {
    const std::string why = fmt::format("{} needed on the {}, {} available",
                                        human_bytes(request.bytes), name, human_bytes(room));
    require(
        !must, ExitCode::memory,
        fmt::format("--device gpu: {} per rank; use --device cpu, more GPUs or a smaller problem",
                    why));
    return {Space::host, fmt::format("device: cpu ({})", why)};
  }
  std::string note =
      fmt::format("device: gpu ({}, kernel {}; --device cpu for the CPU)", name, request.kernel);
  if (request.sharing > 1 && gpus.devices.front().takes_turns)
    note += fmt::format(
        ". {} ranks share a GPU, which computes for one at a time: start CUDA's multi-process "
        "service first (nvidia-cuda-mps-control -d), or one rank per GPU",
        request.sharing);
  return {Space::device, note};
}

bool takes_gpu(const mpi::Communicator& comm, const Values& point, const std::string& kernel,
               index_t bytes) {
  DeviceRequest request{point.text("device"), kernel, bytes, 1};
  if (request.wanted == "cpu") return false;
  if (request.wanted == "auto" && !machine::built_with_cuda())
    return false;  // on no rank: all have the same build
  if (point.flag("plan") && request.wanted == "gpu" && !kernel.empty()) return true;
  const mpi::Communicator node = comm.node();
  const index_t drivers = drivers_of_node(point, node.size());
  DeviceChoice choice{Space::device, {}};  // default of ranks that drive no device
  mpi::Agreement all(comm, "device");
  all.check([&] {
    if (node.rank() >= drivers) return;
    const machine::Gpus& gpus = machine::gpus();
    const auto devices = static_cast<index_t>(gpus.devices.size());
    if (devices > 0) request.sharing = ceil_div(drivers, devices);
    machine::use_gpu(node.rank());
    const index_t free = devices > 0 && !kernel.empty() ? machine::free_gpu_memory() : 0;
    choice = choose_device(request, gpus, free, machine::shows_gpu_hardware());
  });
  const std::size_t without = all.largest(choice.space == Space::device ? 0 : 1);
  all.settle();
  const bool everywhere = all.value(without) == 0;
  if (!everywhere && choice.space == Space::device)
    choice.note = "device: cpu (not every node has a GPU)";
  print_once(comm, choice.note);
  return everywhere;
}

index_t device_room(const mpi::Communicator& comm, const Values& point) {
  constexpr index_t none = std::numeric_limits<index_t>::max();
  const index_t mine = point.bytes("device-memory");
  if (const index_t asked = -comm.max(-(mine > 0 ? mine : none)); asked != none) return asked;
  const mpi::Communicator node = comm.node();
  const index_t drivers = drivers_of_node(point, node.size());
  index_t room = none;
  mpi::together(comm, "device", [&] {
    if (node.rank() >= drivers) return;
    machine::use_gpu(node.rank());
    const auto devices = static_cast<index_t>(machine::gpus().devices.size());
    room = devices > 0 ? machine::gpu_memory_limit(0) / ceil_div(drivers, devices) : 0;
  });
  room = -comm.max(-room);  // all ranks query before any allocates
  return room == none ? 0 : room;
}

void require_gpu(const mpi::Communicator& comm, const Values& point, std::string_view kernel) {
  const mpi::Communicator node = comm.node();
  mpi::together(comm, "device", [&] {
    if (node.rank() >= drivers_of_node(point, node.size())) return;
    const machine::Gpus& gpus = machine::gpus();
    require(
        !gpus.devices.empty(), ExitCode::usage,
        fmt::format(
            "kernel {} needs a GPU: none is available ({}); use a host kernel or another machine",
            kernel, gpus.reason));
    machine::use_gpu(node.rank());
  });
}

void require_planned_gpu(const mpi::Communicator& comm, const Values& point,
                         const VariantInfo* kernel) {
  if (point.has("ranks")) return;
  const bool device = kernel != nullptr && kernel->space == Space::device;
  if (comm.max(device ? 1 : 0) > 0) require_gpu(comm, point, device ? kernel->name : "");
}

namespace {

bool any(const Parsed& parsed, const char* option, const auto& wanted) {
  const auto found = parsed.lists.find(option);
  return found != parsed.lists.end() &&
         std::any_of(found->second.begin(), found->second.end(), wanted);
}
bool names_device_kernel(const Parsed& parsed) {
  return any(parsed, "kernel", [](const std::string& name) { return name.starts_with("cu"); });
}

}  // namespace

const machine::Gpus* concerned_gpus(const Parsed& parsed) {
  const bool allowed = any(parsed, "device", [](const std::string& device) {
    return device == "auto" || device == "gpu";
  });
  return names_device_kernel(parsed) || allowed ? &machine::gpus() : nullptr;
}

std::string idle_gpu_flags(const Parsed& parsed, bool auto_takes_gpus) {
  std::vector<std::string> given;
  for (const char* option : {"device-memory", "gpu-ranks"}) {
    const auto source = parsed.sources.find(option);
    if (source != parsed.sources.end() && source->second == "flag" &&
        any(parsed, option, [](const std::string& value) { return value != "0"; }))
      given.push_back(fmt::format("--{}", option));
  }
  if (given.empty() || names_device_kernel(parsed)) return "";
  const auto is = [](const char* word) {
    return [word](const std::string& value) { return value == word; };
  };
  const bool may_take_one =
      any(parsed, "device", is("gpu")) ||
      (auto_takes_gpus && any(parsed, "device", is("auto")) && !machine::gpus().devices.empty());
  return may_take_one && any(parsed, "kernel", is("auto")) ? "" : join(given, " and ");
}

std::vector<Ceiling> properties(const machine::Gpu& gpu) {
  const auto real = [](auto value) { return static_cast<double>(value); };
  return {{"gpu_memory", 1, real(gpu.memory_bytes) / 1e9, "GB"},
          {"gpu_multiprocessors", 1, real(gpu.multiprocessors), ""},
          {"gpu_compute_capability", 1, gpu.major + 0.1 * gpu.minor, ""},
          {"gpu_clock", 1, gpu.clock_hz / 1e9, "GHz"},
          {"gpu_memory_clock", 1, gpu.memory_clock_hz / 1e9, "GHz"},
          {"gpu_bus", 1, real(gpu.bus_bits), "bit"},
          {"gpu_bus_bandwidth", 1, gpu.bus_bandwidth() / 1e9, "GB/s"},
          {"gpu_l2", 1, real(gpu.l2_bytes) / 1e6, "MB"},
          {"gpu_shared", 1, real(gpu.shared_bytes) / 1e3, "kB"}};
}

std::string described(const machine::Gpu& gpu) {
  return fmt::format(
      "{}, {}, {} multiprocessors at {:.2f} GHz, compute capability {}.{}, bus of {} bits ({:.0f} "
      "GB/s), "
      "L2 {}, shared memory {} a multiprocessor, PCI {}",
      gpu.name, human_bytes(gpu.memory_bytes), gpu.multiprocessors, gpu.clock_hz / 1e9, gpu.major,
      gpu.minor, gpu.bus_bits, gpu.bus_bandwidth() / 1e9, human_bytes(gpu.l2_bytes),
      human_bytes(gpu.shared_bytes), gpu.pci);
}

std::vector<Reported> device_query(const machine::Gpu& gpu) {
  const auto able = [](bool yes) { return yes ? "yes" : "no"; };
  return {{"block",
           fmt::format("at most {} threads (warps of {}), {} registers, {} shared memory ({} "
                       "if a kernel asks)",
                       gpu.block_threads, gpu.warp, gpu.block_registers,
                       human_bytes(gpu.block_shared_bytes), human_bytes(gpu.block_opt_in_bytes))},
          {"multiprocessor",
           fmt::format("at most {} threads, {} blocks, {} registers, {} shared memory", gpu.threads,
                       gpu.blocks, gpu.registers, human_bytes(gpu.shared_bytes))},
          {"memories", fmt::format("{} device (bus of {} bits at {:.3g} GHz, ECC {}), {} L2, {} "
                                   "constant",
                                   human_bytes(gpu.memory_bytes), gpu.bus_bits,
                                   gpu.memory_clock_hz / 1e9, gpu.ecc ? "on" : "off",
                                   human_bytes(gpu.l2_bytes), human_bytes(gpu.constant_bytes))},
          {"abilities", fmt::format("{}; concurrent kernels: {}; unified addressing: {}",
                                    counted(gpu.copy_engines, "copy engine"),
                                    able(gpu.concurrent_kernels), able(gpu.unified_addressing))}};
}

}  // namespace tessera::inline v1::run
