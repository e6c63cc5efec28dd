#include "lab/paper/gpu.hpp"

#include <fmt/core.h>

#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "run/options.hpp"

namespace tessera::inline v1::paper {
namespace {

constexpr double giga = 1e9, tera = 1e12;
constexpr index_t kib = 1024, mib = 1024 * kib;

PaperGpu gpu_of(PaperGpu figures) {
  if (figures.version.starts_with("2.")) figures.pass_clocks = 2;
  figures.multiprocessor = machine::compute_capability(figures.version).multiprocessor;
  return figures;
}

/// Key of a file, and where its value goes.
struct Key {
  const char* name;
  double PaperGpu::*member;
  double unit;
  bool needed;
};
constexpr Key keys[] = {{"clock-mhz", &PaperGpu::clock, 1e6, true},
                        {"bandwidth-gb-s", &PaperGpu::bandwidth, giga, true},
                        {"l2-bandwidth-gb-s", &PaperGpu::l2_bandwidth, giga, false},
                        {"latency-clocks", &PaperGpu::latency, 1, true},
                        {"f32-tflops", &PaperGpu::flops32, tera, true},
                        {"f64-tflops", &PaperGpu::flops64, tera, true}};

/// The keys of a file as options: read, checked and refused as those of any configuration.
run::OptionSet declare() {
  run::OptionSet set("paper", "A GPU on paper", {});
  const auto add = [&](const char* name, run::Kind kind, double low, double high,
                       const char* fallback = "") {
    set.add({.name = name, .kind = kind, .fallback = fallback, .low = low, .high = high});
  };
  add("name", run::Kind::text, 0, 0);
  add("compute-capability", run::Kind::text, 0, 0);
  add("multiprocessors", run::Kind::integer, 1, 4096);
  for (const Key& key : keys) add(key.name, run::Kind::real, 1e-6, 1e9);
  add("l2", run::Kind::bytes, 0, 1e12, "0");
  add("segment", run::Kind::bytes, 4, 128, "32");
  add("config", run::Kind::text, 0, 0);
  return set;
}

PaperGpu read_gpu(const std::string& file) {
  const run::OptionSet set = declare();
  const run::Values values = set.points(set.parse({"--config", file})).front();
  const auto need = [&](const char* key) {
    require(values.has(key), ExitCode::usage,
            fmt::format("{}: a GPU requires the key '{}'; add it", file, key));
  };
  for (const char* key : {"compute-capability", "multiprocessors"}) need(key);
  PaperGpu gpu;
  gpu.name = values.has("name") ? values.text("name") : file;
  gpu.version = values.text("compute-capability");
  gpu.multiprocessors = values.integer("multiprocessors");
  for (const Key& key : keys) {
    if (key.needed) need(key.name);
    if (values.has(key.name)) gpu.*key.member = values.real(key.name) * key.unit;
  }
  gpu.l2_bytes = values.bytes("l2");
  gpu.segment_bytes = values.bytes("segment");
  require(
      128 % gpu.segment_bytes == 0, ExitCode::usage,
      fmt::format("{}: segment: {} does not divide a line of 128 bytes", file, gpu.segment_bytes));
  try {
    return gpu_of(gpu);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: compute-capability: {}", file, error.what()));
  }
}

}  // namespace

std::span<const PaperGpu> paper_gpus() {
  static const std::vector<PaperGpu> all{
      gpu_of({"h100", "9.0", 132, 1.98 * giga, 3.35 * tera, 5120 * 1.98 * giga, 50 * mib, 479,
              66.9 * tera, 33.5 * tera}),
      gpu_of({"a100", "8.0", 108, 1.41 * giga, 1.555 * tera, 5120 * 1.41 * giga, 40 * mib, 466,
              19.5 * tera, 9.7 * tera}),
      gpu_of({"v100", "7.0", 80, 1.53 * giga, 0.9 * tera, 2048 * 1.53 * giga, 6 * mib, 375,
              15.7 * tera, 7.8 * tera}),
      gpu_of({"gtx580", "2.0", 16, 1.544 * giga, 0.1924 * tera, 0, 768 * kib, 600, 1.581 * tera,
              0.198 * tera, 128})};
  return all;
}

PaperGpu parse_device(const std::string& text) {
  const auto colon = text.find(':');
  require(text.substr(0, colon) == "paper", ExitCode::usage,
          fmt::format("--device '{}' is not a GPU on paper; use paper, paper:NAME or "
                      "paper:FILE.toml",
                      text));
  const std::string name = colon == text.npos ? paper_gpus().front().name : text.substr(colon + 1);
  if (name.ends_with(".toml")) return read_gpu(name);
  std::vector<std::string> names;
  for (const PaperGpu& gpu : paper_gpus()) {
    if (gpu.name == name) return gpu;
    names.push_back(gpu.name);
  }
  throw Error(ExitCode::usage,
              fmt::format("--device: the GPU '{}' is unknown{}; use one of {}, or FILE.toml", name,
                          suggestion(name, names), join(names, ", ")));
}

}  // namespace tessera::inline v1::paper
