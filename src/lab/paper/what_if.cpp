#include "lab/paper/what_if.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/hanging.hpp"
#include "base/table.hpp"
#include "base/text.hpp"
#include "io/schema.hpp"

namespace tessera::inline v1::paper {
namespace {

using machine::BlockShape;
using machine::ComputeCapability;
using machine::Multiprocessor;
using machine::Residency;

/// One of the three quantities of a block.
struct Axis {
  const char* name;  ///< of the curve and of its column
  index_t BlockShape::*member;
  index_t from, step;
  std::vector<index_t> printed;
  const char* units = "";
};

std::array<Axis, 3> axes_of() {
  constexpr index_t kib = 1024;
  return {{{"threads", &BlockShape::threads, 32, 32, {32, 64, 128, 192, 256, 384, 512, 768, 1024}},
           {"registers", &BlockShape::registers, 16, 1, {16, 24, 32, 40, 48, 64, 96, 128, 255}},
           {"shared memory",
            &BlockShape::shared_bytes,
            0,
            512,
            {0, kib, 2 * kib, 4 * kib, 8 * kib, 16 * kib, 32 * kib, 64 * kib, 96 * kib},
            "B"}}};
}

index_t most_of(const Axis& axis, const Multiprocessor& m) {
  if (axis.member == &BlockShape::threads) return 1024;
  return axis.member == &BlockShape::registers ? m.thread_registers : m.block_shared_bytes;
}

BlockShape with(BlockShape block, const Axis& axis, index_t value) {
  block.*axis.member = value;
  return block;
}

std::string percent(const Residency& r) { return fmt::format("{:.0f} %", 100 * r.occupancy); }

std::string text_of(const BlockShape& block) {
  return fmt::format("blocks of {}, {} a thread, {} of shared memory",
                     counted(block.threads, "thread"), counted(block.registers, "register"),
                     human_bytes(block.shared_bytes));
}

io::Row row_of(const ComputeCapability& row, const std::string& curve, const BlockShape& block) {
  const Residency r = machine::residency(row.multiprocessor, block);
  return {{"compute_capability", std::string(row.version)},
          {"curve", curve},
          {"threads", block.threads},
          {"registers", block.registers},
          {"shared_bytes", block.shared_bytes, "B"},
          {"blocks", r.blocks},
          {"warps", r.warps},
          {"occupancy", r.occupancy},
          {"limit", r.limit}};
}

void print_resources(const Multiprocessor& m, const BlockShape& block, const Residency& r) {
  Table table({"resource", "of a block", "of a multiprocessor", "blocks"});
  const index_t warps = ceil_div(block.threads, machine::warp_threads);
  const auto add = [&](const char* resource, const std::string& taken, const std::string& all,
                       index_t fit) {
    table.add({resource, taken, all, std::to_string(fit)});
  };
  add("warps", std::to_string(warps), std::to_string(m.threads / machine::warp_threads),
      r.by_warps);
  add("blocks", "1", std::to_string(m.blocks), r.by_blocks);
  if (block.registers > 0)
    add("registers", std::to_string(r.block_registers), std::to_string(m.registers),
        r.by_registers);
  if (r.block_shared_bytes > 0)
    add("shared memory", human_bytes(r.block_shared_bytes), human_bytes(m.shared_bytes),
        r.by_shared);
  fmt::print("{}", table.within(terminal_columns()));
  fmt::print("{}, {}: occupancy {}, limited by {}\n", counted(r.blocks, "block"),
             counted(r.warps, "warp"), percent(r), r.limit);
  print_hanging("units: ",
                fmt::format("{} registers to a warp, {} B of shared memory to a block{}",
                            m.register_unit, m.shared_unit,
                            m.reserved_bytes > 0 ? fmt::format(", {} more for the system",
                                                               human_bytes(m.reserved_bytes))
                                                 : ""));
}

}  // namespace

std::vector<io::TableRows> print_what_if(const BlockShape& block) {
  io::TableRows rows{io::schema::occupancy, {}};
  Table table({"compute capability", "of", "blocks", "warps", "occupancy", "limited by"});
  for (const ComputeCapability& row : machine::compute_capabilities()) {
    const Residency r = machine::residency(row.multiprocessor, block);
    table.add({std::string(row.version), std::string(row.example), std::to_string(r.blocks),
               fmt::format("{} of {}", r.warps, row.multiprocessor.threads / machine::warp_threads),
               percent(r), r.limit});
    rows.rows.push_back(row_of(row, "block", block));
  }
  fmt::print("{}\n{}", text_of(block), table.within(terminal_columns()));
  return {rows};
}

std::vector<io::TableRows> print_what_if(const BlockShape& block, const std::string& version) {
  const ComputeCapability& row = machine::compute_capability(version);
  const Multiprocessor& m = row.multiprocessor;
  fmt::print("compute capability {} ({})\n{}\n", row.version, row.example, text_of(block));
  print_resources(m, block, machine::residency(m, block));
  io::TableRows rows{io::schema::occupancy, {}};
  const std::array<Axis, 3> axes = axes_of();
  Table table({"threads", "occupancy", "registers", "occupancy", "shared memory", "occupancy"});
  for (std::size_t line = 0; line < axes.front().printed.size(); ++line) {
    std::vector<std::string> cells;
    for (const Axis& axis : axes) {
      const index_t value = axis.printed[line];
      const bool shared = axis.member == &BlockShape::shared_bytes;
      cells.push_back(shared ? human_bytes(value) : std::to_string(value));
      cells.push_back(percent(machine::residency(m, with(block, axis, value))));
    }
    table.add(std::move(cells));
  }
  for (const Axis& axis : axes) {
    for (index_t value = axis.from; value <= most_of(axis, m); value += axis.step)
      rows.rows.push_back(row_of(row, axis.name, with(block, axis, value)));
  }
  fmt::print("\nif one of the three were different\n{}", table.within(terminal_columns()));
  return {rows};
}

}  // namespace tessera::inline v1::paper
