// Completion and validation of a locality request, before anything is traced.

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/text.hpp"
#include "locality.hpp"

namespace tessera::apps::locality {

namespace lab = tessera::locality;

namespace {

/// Option used by some workloads or kernels only.
struct Concern {
  const char* option;
  const char* workloads;  ///< users, a blank around each; "": all
  enum class Of { all, cpu, gpu, paper, drawn } kernels = Of::all;
};

using Of = Concern::Of;
constexpr Concern concerns[] = {
    {"m", " matmul transpose stencil memory "},
    {"k", " matmul "},
    {"tile", " matmul transpose stencil forkjoin "},
    {"column-width", " matmul transpose stencil "},
    {"range", " sort forkjoin "},
    {"stencil", " stencil "},
    {"steps", " stencil ", Of::cpu},
    {"pad", " matmul transpose stencil memory ", Of::cpu},
    {"cache", "", Of::cpu},
    {"line", "", Of::cpu},
    {"align", "", Of::cpu},
    {"sample", "", Of::cpu},
    {"ideal-limit", "", Of::cpu},
    {"diagram", "", Of::drawn},
    {"gpu", "", Of::gpu},
    {"block", "", Of::gpu},
    {"offset", " memory ", Of::paper},
    {"lane-stride", " memory ", Of::paper},
    {"bins", " memory ", Of::paper},
    {"ways", " memory ", Of::paper},
};

bool is_on_paper(const run::Parsed& parsed) { return !parsed.lists.at("device").front().empty(); }

/// Returns the kernels of a workload that run or are traced where the request says.
std::vector<std::string> kernels_of(const std::string& workload, const run::Parsed& parsed) {
  return is_on_paper(parsed) ? paper::paper_kernels(workload) : lab::traced_kernels(workload);
}

/// Throws Error(usage) for options that were given and that nothing in this request uses.
void refuse_idle(const run::Parsed& parsed) {
  const std::string& workload = parsed.lists.at("workload").front();
  const std::vector<std::string>& kernels = parsed.lists.at("kernel");
  const bool on_paper = is_on_paper(parsed);
  const auto all = static_cast<index_t>(kernels.size());
  const auto gpus = on_paper ? all : std::count_if(kernels.begin(), kernels.end(), is_gpu_kernel);
  require(!on_paper || parsed.sources.at("gpu") == "default", ExitCode::usage,
          "--gpu describes caches, --device a GPU on paper; drop one of them");
  for (const Concern& c : concerns) {
    const std::string& source = parsed.sources.at(c.option);
    if (source == "default") continue;
    const std::string_view takers = c.workloads;
    require(takers.empty() || takers.find(" " + workload + " ") != takers.npos, ExitCode::usage,
            fmt::format("--{} ({}) applies to {}: the workload is {}; drop it", c.option, source,
                        join(split(std::string(trim(takers)), ' '), ", "), workload));
    const bool looked_at =
        c.kernels == Of::all || (c.kernels == Of::paper   ? on_paper
                                 : c.kernels == Of::gpu   ? gpus > 0
                                 : c.kernels == Of::drawn ? on_paper || gpus < all
                                                          : gpus < all);
    require(looked_at, ExitCode::usage,
            fmt::format("--{} ({}) applies to kernels of {} only; drop it or name one", c.option,
                        source,
                        c.kernels == Of::cpu     ? "the CPU"
                        : c.kernels == Of::gpu   ? "a GPU (cuda_...)"
                        : c.kernels == Of::drawn ? "the CPU and --device paper"
                                                 : "--device paper"));
  }
}

void check(const run::Values& point) {
  if (point.has("device"))
    return paper::check(paper::parse_device(point.text("device")), paper_request(point));
  const lab::Problem problem = request_of(point).problem;
  if (is_gpu_kernel(problem.kernel)) {
    lab::check(lab::parse_gpu(point.text("gpu")), problem, point.integer("block"));
  } else {
    lab::check(problem);
  }
}

/// Replaces `all` by its kernels; returns a message about the others.
std::string expand_all(const run::OptionSet& set, run::Parsed& parsed) {
  std::vector<std::string> taken;
  std::string refusals;
  std::optional<Error> first;
  for (const std::string& kernel : kernels_of(parsed.lists.at("workload").front(), parsed)) {
    parsed.lists.at("kernel") = {kernel};
    try {
      for (const run::Values& point : set.points(parsed)) check(point);
      taken.push_back(kernel);
    } catch (const Error& error) {
      if (!first) first = error;
      refusals += fmt::format("all but {}: {}\n", kernel, error.what());
    }
  }
  if (taken.empty()) throw *first;
  parsed.lists.at("kernel") = taken;
  return refusals;
}

void require_names(const std::string& workload, const run::Parsed& parsed) {
  const std::vector<std::string>& kernels = parsed.lists.at("kernel");
  const auto gpu = is_on_paper(parsed) ? kernels_of(workload, parsed) : lab::gpu_kernels(workload);
  for (const std::string& kernel : kernels) {
    require(kernel != "all", ExitCode::usage,
            "--kernel all includes every kernel; drop the other names");
    if (std::find(gpu.begin(), gpu.end(), kernel) != gpu.end()) continue;
    if (is_on_paper(parsed)) (void)paper::paper_kernel(workload, kernel);
    const std::vector<std::string> drawn = paper::paper_kernels(workload);
    require(is_on_paper(parsed) || std::find(drawn.begin(), drawn.end(), kernel) == drawn.end(),
            ExitCode::usage,
            fmt::format("{} is simulated on paper only; add --device paper", kernel));
    (void)lab::traced_kernel(workload, kernel);
  }
}

/// Returns whether the request asks for diagrams of CUDA kernels alone: they are drawn on paper.
bool draws_gpu_kernels(const run::Parsed& parsed) {
  const std::vector<std::string>& kernels = parsed.lists.at("kernel");
  return !is_on_paper(parsed) && parsed.sources.at("diagram") != "default" &&
         parsed.sources.at("gpu") == "default" &&
         std::all_of(kernels.begin(), kernels.end(), is_gpu_kernel);
}

/// Sets the defaults that depend on the workload and on where it runs.
void settle_defaults(const std::string& workload, run::Parsed& parsed) {
  std::vector<std::string>& device = parsed.lists.at("device");
  if (parsed.sources.at("device") == "environment" && !device.front().starts_with("paper"))
    device = {""};  // where other commands compute
  if (draws_gpu_kernels(parsed)) device = {"paper"};
  const bool on_paper = is_on_paper(parsed);
  require(!kernels_of(workload, parsed).empty(), ExitCode::usage,
          fmt::format("{} has no kernels on paper; use matmul, transpose, stencil or memory",
                      workload));
  const auto set = [&](const char* option, const char* value) {
    if (parsed.sources.at(option) == "default") parsed.lists.at(option) = {value};
  };
  std::vector<std::string>& kernels = parsed.lists.at("kernel");
  if (kernels == std::vector<std::string>{""})
    kernels = {on_paper ? "all" : lab::traced_kernels(workload).front()};
  if (!on_paper) return;
  set("block", "256");  // as the kernels are launched
  if (workload != "memory") return;
  require(parsed.sources.at("m") == "default", ExitCode::usage,
          "--m: memory on paper has one row of words; drop it");
  set("n", "262144");
  set("type", "u32");
  require(parsed.lists.at("type") == std::vector<std::string>{"u32"}, ExitCode::usage,
          "--type: memory has words of 4 bytes; use u32");
}

}  // namespace

std::string settle(const run::OptionSet& set, run::Parsed& parsed) {
  const std::string workload = parsed.lists.at("workload").front();
  require(!workload.empty(), ExitCode::usage,
          "a workload is required; run tessera locality matmul --kernel naive --n 256");
  std::string left_out;
  settle_defaults(workload, parsed);
  std::vector<std::string>& kernels = parsed.lists.at("kernel");
  if (kernels == std::vector<std::string>{"all"}) {
    left_out = expand_all(set, parsed);
  } else {
    require_names(workload, parsed);
  }
  refuse_idle(parsed);
  for (const run::Values& point : set.points(parsed)) check(point);
  return left_out;
}

}  // namespace tessera::apps::locality
