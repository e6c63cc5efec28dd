#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "base/text.hpp"
#include "kernels/memory/device_probes.hpp"
#include "lab/locality/simulated_counters.hpp"
#include "locality.hpp"
#include "run/common_options.hpp"

namespace tessera::apps::locality {

namespace lab = tessera::locality;
using run::Kind;

namespace {

std::vector<std::string> workloads() {
  std::vector<std::string> names;
  for (const lab::TracedKernel& row : lab::traced_kernels()) {
    if (names.empty() || names.back() != row.workload) names.emplace_back(row.workload);
  }
  return names;
}

/// Returns the kernels that use --tile: tiles, leaves, and the thresholds of forkjoin.
std::vector<std::string> tiled_kernels() {
  std::vector<std::string> names{"tiled", "transposed_tiled", "recursive", "cuda_tiled"};
  for (const lab::TracedKernel& row : lab::traced_kernels()) {
    if (row.workload == "forkjoin") names.emplace_back(row.kernel);
  }
  return names;
}

run::Option size(const char* name, const char* fallback, const char* help, const char* group) {
  return {.name = name,
          .kind = Kind::integer,
          .fallback = fallback,
          .help = help,
          .group = group,
          .axis = true,
          .low = 0,
          .high = 1e9};
}

void add_problem(run::OptionSet& set) {
  set.add({.name = "workload",
           .kind = Kind::choice,
           .help = "Select the workload to trace. memory: walks over arrays; with --device paper "
                   "probes of a GPU.",
           .group = "Problem",
           .choices = workloads(),
           .positional = true});
  set.add({.name = "kernel",
           .help = "Select the variants to trace, or all. Names as in tessera list, cuda_ variants "
                   "included; default: the first.",
           .group = "Problem",
           .value = "NAME",
           .axis = true});
  set.add(size("n", "256", "Set the columns of a matrix or field, keys of a sort", "Problem"));
  set.add(size("m", "", "Set the rows (default n)", "Problem"));
  set.add(size("k", "", "Set the inner dimension of a product (default n)", "Problem"));
  set.add(
      {.name = "type",
       .kind = Kind::choice,
       .fallback = "f64",
       .help = "Select the element type. sort: bits of 4 or 8 bytes, or pairs of key and index.",
       .group = "Problem",
       .choices = {"f32", "f64", "u32", "u64", "pair"},
       .axis = true});
  set.add(size("tile", "0",
               "Set the edge of tiles and of leaves of recursive. Also the threshold of forkjoin; "
               "0: the default of the kernel.",
               "Problem"))
      .users = {"kernel", tiled_kernels()};
  set.add(size("column-width", "0",
               "Set the column width of column and zigzag. 0: the default of the kernel.",
               "Problem"))
      .users = {"kernel", {"column", "zigzag", "cuda_column", "cuda_zigzag"}};
  set.add(size("range", "0",
               "Set the number of distinct keys of a sort. 0: all bits (counting sorts: 65536).",
               "Problem"));
  set.add({.name = "stencil",
           .fallback = "box3x3",
           .help = "Select the stencil (see tessera list)",
           .group = "Problem",
           .value = "NAME",
           .axis = true});
  set.add(size("steps", "1", "Set the time steps of a stencil", "Problem"));
  set.add(size("pad", "0", "Pad each row by N elements", "Problem"));
}

void add_caches(run::OptionSet& set) {
  set.add({.name = "cache",
           .fallback = "32KiB:8,1MiB:16",
           .help = "Set the levels of the simulated cache. BYTES:WAYS, 8 ways by default, full: "
                   "fully associative; or here: the caches of this machine. Each is simulated "
                   "alone and behind those before it.",
           .group = "Caches",
           .value = "LEVELS"});
  set.add({.name = "line",
           .kind = Kind::bytes,
           .fallback = "64",
           .help = "Set the bytes of a cache line. Those of a page (4096) make the cache a TLB.",
           .group = "Caches",
           .axis = true,
           .low = 1,
           .high = 4096});
  set.add({.name = "align",
           .kind = Kind::bytes,
           .fallback = "4096",
           .help = "Align arrays to a multiple of 8 bytes. Below --line they begin inside lines.",
           .group = "Caches",
           .low = 8,
           .high = 1e9});
  set.add({.name = "sample",
           .kind = Kind::real,
           .fallback = "0",
           .help = "Set the share of lines followed for the miss curve. 0: all up to 1e9 accesses, "
                   "fewer beyond.",
           .group = "Caches",
           .low = 0,
           .high = 1});
  set.add({.name = "ideal-limit",
           .kind = Kind::integer,
           .fallback = "100000000",
           .help = "Limit the accesses simulated on the ideal cache. Each takes 8 bytes of memory.",
           .group = "Caches",
           .low = 0,
           .high = 2e9});
}

void add_gpu(run::OptionSet& set) {
  set.add(
      {.name = "gpu",
       .fallback = "48:32KiB:4MiB:1024",
       .help =
           "Describe the simulated GPU. MULTIPROCESSORS:L1:L2:RESIDENT_THREADS; for cuda_ kernels.",
       .group = "GPU",
       .value = "GPU"});
  run::Option block = size("block", "1024", "Set the threads per block of cuda_ kernels", "GPU");
  block.low = 32;
  block.high = 1024;
  set.add(block);
  set.add({.name = "device",
           .help = "Run cuda_ kernels on a GPU on paper. paper, paper:h100, a100, v100, gtx580 or "
                   "paper:FILE.toml; counts transactions, bank conflicts and divergence.",
           .group = "GPU",
           .value = "DEVICE",
           .axis = true});
  for (const memory::DeviceParameter& p : memory::device_parameters()) {
    if (!is_paper_option(p.name)) continue;
    set.add({.name = p.name,
             .kind = Kind::integer,
             .help = fmt::format("Set the {} of memory on paper. {}: {}.", p.name, p.name, p.help),
             .group = "GPU",
             .axis = true,
             .low = static_cast<double>(p.low),
             .high = static_cast<double>(p.high)});
  }
}

lab::Geometry cache_of(const std::string& text, index_t line_bytes) {
  try {
    return lab::parse_geometry(text, line_bytes);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("--cache: {}", error.what()));
  }
}

}  // namespace

bool is_paper_option(std::string_view name) {
  const auto takes_it = [&](const memory::DeviceParameter& p) {
    if (p.name != name) return false;
    for (const std::string& kernel : paper::paper_kernels("memory")) {
      const auto* const row = find_variant(memory::device_probes(), kernel);
      if (row != nullptr && takes(*row, p)) return true;
    }
    return false;
  };
  const auto all = memory::device_parameters();
  return std::any_of(all.begin(), all.end(), takes_it);
}

run::OptionSet declare() {
  run::OptionSet set(
      "locality", "Simulate the cache misses of the production kernels",
      {"tessera locality matmul --kernel tiled --n 256 --cache 32KiB --line 64",
       "tessera locality matmul --kernel all --n 128 --results l.h5",
       "tessera locality matmul --kernel recursive --n 250,256 --pad 0,8   # conflicts",
       "tessera locality matmul --kernel cuda_column --type f32 --column-width 32,64",
       "tessera locality transpose --kernel recursive --diagram 128 --results l.h5",
       "tessera locality transpose --device paper:h100 --n 1024 --type f32",
       "tessera locality matmul --kernel cuda_tiled --n 4 --tile 2 --diagram 8",
       "tessera report l.h5                              # miss curves and diagrams"});
  add_problem(set);
  add_caches(set);
  add_gpu(set);
  set.add({.name = "diagram",
           .kind = Kind::integer,
           .help = "Draw a space-time diagram with a cache of N lines. Up to 20000 accesses one by "
                   "one, more as a density. Kernels cuda_... run on paper, thread by thread; N "
                   "segments of device memory.",
           .group = "Diagram",
           .axis = true,
           .low = 1,
           .high = 65536});
  run::add_results(set, {"curves, caches and provenance", "Trace", "Files"});
  run::add_title(set);
  run::add_config(set);
  set.lead_with({"workload", "kernel", "n", "type", "cache", "diagram", "results"});
  return set;
}

lab::AnalysisRequest request_of(const run::Values& point) {
  lab::AnalysisRequest r;
  lab::Problem& p = r.problem;
  p.workload = point.text("workload");
  p.kernel = point.text("kernel");
  const std::string& type = point.text("type");
  p.element_bytes = type == "pair" ? 16 : type.ends_with("32") ? 4 : 8;
  require(p.workload == "sort" || type != "pair", ExitCode::usage,
          "--type pair requires the workload sort");
  require((p.workload != "matmul" && p.workload != "stencil") || type.starts_with('f'),
          ExitCode::usage, fmt::format("{} computes in f32 or f64, not in {}", p.workload, type));
  p.n = point.integer("n");
  p.m = point.has("m") ? point.integer("m") : p.n;
  p.k = point.has("k") ? point.integer("k") : p.n;
  p.tile = point.integer("tile");
  p.column_width = point.integer("column-width");
  p.pad = point.integer("pad");
  p.range = point.integer("range");
  p.steps = point.integer("steps");
  p.stencil = point.text("stencil");
  r.line_bytes = point.bytes("line");
  require(std::has_single_bit(static_cast<std::uint64_t>(r.line_bytes)), ExitCode::usage,
          fmt::format("--line: {} is not a power of two", r.line_bytes));
  if (point.text("cache") == "here") r.caches = lab::machine_caches();
  for (const std::string& word : split(r.caches.empty() ? point.text("cache") : "", ','))
    if (!word.empty()) r.caches.push_back(cache_of(std::string(trim(word)), r.line_bytes));
  for (const lab::Geometry& g : r.caches) {
    require(g.line_bytes == r.line_bytes, ExitCode::usage,
            "--cache sets a line size other than --line: all levels require the same one");
  }
  r.sample = point.real("sample");
  r.ideal_limit = point.integer("ideal-limit");
  r.alignment = point.bytes("align");
  require(r.alignment % 8 == 0, ExitCode::usage,
          fmt::format("--align: {} is not a multiple of 8 bytes", r.alignment));
  return r;
}

}  // namespace tessera::apps::locality
