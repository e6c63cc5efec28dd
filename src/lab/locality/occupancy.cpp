#include "lab/locality/occupancy.hpp"

#include <fmt/core.h>

#include <string>
#include <vector>

#include "base/table.hpp"
#include "kernels/matmul/cuda.hpp"
#include "kernels/memory/device_probes.hpp"
#include "kernels/sort/cuda.hpp"
#include "kernels/stencil/cuda.hpp"
#include "kernels/transpose/cuda.hpp"
#include "machine/gpu.hpp"
#include "machine/occupancy.hpp"

namespace tessera::inline v1::locality {

// Only the driver, on a device, knows the compiled functions' resources.
void print_occupancy() {
  const machine::Gpus& gpus = machine::gpus();
  if (gpus.devices.empty()) {
    fmt::print(
        "occupancy is unknown: only the driver of a GPU reports it ({}); describe a block with "
        "--threads, --registers and --shared\n",
        gpus.reason);
    return;
  }
  machine::use_gpu(0);
  const machine::Gpu& gpu = gpus.devices.front();
  Table table({"workload", "kernel", "instance", "threads", "registers", "local", "shared",
               "blocks", "warps", "occupancy", "limited by"});
  const auto add = [&](const char* workload,
                       const std::vector<machine::DeviceFunction>& functions) {
    for (const machine::DeviceFunction& f : functions) {
      const machine::Occupancy found = machine::occupancy(f);
      table.add({workload, f.kernel, f.of, std::to_string(f.threads),
                 std::to_string(found.registers), fmt::format("{} B", found.local_bytes),
                 fmt::format("{} B", found.shared_bytes), std::to_string(found.blocks),
                 std::to_string(found.warps),
                 fmt::format("{:.0f} %", 100.0 * 32 * found.warps / gpu.threads), found.limit});
    }
  };
  add("matmul", matmul::device_functions());
  add("transpose", transpose::device_functions());
  add("stencil", stencil::device_functions());
  add("sort", sort::device_functions());
  add("memory", memory::device_functions());
  fmt::print(
      "{}limits per multiprocessor of {}: {} threads, {} blocks, {} registers, {} B of shared "
      "memory "
      "({} B of it reserved per block)\n",
      table.within(terminal_columns()), gpu.name, gpu.threads, gpu.blocks, gpu.registers,
      gpu.shared_bytes, gpu.reserved_bytes);
}

}  // namespace tessera::inline v1::locality
