#include "commands/command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>

#include "matmul/options.hpp"
#include "workloads/matmul/workload.hpp"

namespace tessera::apps {
namespace matmul {
namespace {

workloads::Resolve look(const run::OptionSet& set, const run::Parsed& parsed) {
  const auto value = [&](const char* option) { return parsed.lists.at(option).front(); };
  const bool from_files = !value("a").empty();
  const bool adds = parsed.complex("beta") != 0.0;
  require(from_files == !value("b").empty(), ExitCode::usage,
          "--a and --b require each other; give both or neither");
  require(value("c").empty() || from_files, ExitCode::usage,
          "--c requires --a and --b; give all three");
  require(value("c").empty() || adds, ExitCode::usage,
          "--c without --beta has no effect (beta is 0); give --beta 1 to add to it");
  require(!value("c").empty() || !from_files || !adds, ExitCode::usage,
          "--beta requires C, which it scales; add --c file.h5:/path");
  for (const char* size : {"m", "n", "k"}) {
    require(!from_files || parsed.sources.at(size) == "default", ExitCode::usage,
            fmt::format("--{} ({}) conflicts with --a and --b: files determine the sizes; drop it",
                        size, parsed.sources.at(size)));
  }
  (void)workloads::matmul::parse_grid(value("grid"));
  const std::vector<std::string>& algorithms = parsed.lists.at("algorithm");
  const std::vector<std::string> on_grids = algorithms_with(&dist::matmul::Uses::grid);
  require(value("grid").empty() ||
              std::find_first_of(algorithms.begin(), algorithms.end(), on_grids.begin(),
                                 on_grids.end()) != algorithms.end(),
          ExitCode::usage,
          fmt::format("--grid requires --algorithm {}: --algorithm is {}; use it or drop --grid",
                      fmt::join(on_grids, " or "), fmt::join(algorithms, ", ")));
  for (const char* name : {"algorithm", "panel", "slices"}) {
    require(
        value("out-of-core") != "always" || parsed.sources.at(name) != "flag", ExitCode::usage,
        fmt::format(
            "--{} conflicts with --out-of-core always: each rank computes separate tiles; drop it",
            name));
  }
  require(
      value("out").empty() || set.points(parsed).size() == 1, ExitCode::usage,
      "--out conflicts with a sweep: it holds the result of one product; drop --out or the lists");
  auto inputs = std::make_shared<workloads::matmul::Inputs>();
  const run::ValuesOf how = run::values_of(parsed);
  const auto open = [&](const char* option) -> std::unique_ptr<run::Input> {
    if (value(option).empty()) return nullptr;
    auto input = std::make_unique<run::Input>(value(option), option);
    input->take_values(how);
    if (!value("out").empty()) {
      run::require_distinct_files(io::parse_dataset_name(value("out"), "out").file, input->name(),
                                  option);
    }
    return input;
  };
  inputs->a = open("a");
  inputs->b = open("b");
  inputs->c = open("c");
  return workloads::matmul::resolve_with(inputs);
}

}  // namespace
}  // namespace matmul

Command matmul_command() {
  static const run::OptionSet set = matmul::declare();
  return workload_command(workloads::matmul::workload(set),
                          [](run::Parsed& parsed) { return matmul::look(set, parsed); });
}

}  // namespace tessera::apps
