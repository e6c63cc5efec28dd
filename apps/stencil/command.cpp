#include "commands/command.hpp"

#include <fmt/core.h>

#include "io/raw_file.hpp"
#include "stencil/options.hpp"
#include "workloads/stencil/stops.hpp"
#include "workloads/stencil/workload.hpp"

namespace tessera::apps {
namespace stencil {
namespace {

/// Opens the datasets that an option names; throws if one is in a file that is written.
std::vector<std::unique_ptr<run::Input>> open(const run::Parsed& parsed, const char* option) {
  std::vector<std::unique_ptr<run::Input>> inputs;
  const auto value = [&](const char* name) { return parsed.lists.at(name).front(); };
  if (value(option).empty()) return inputs;
  for (const std::string& name : io::split_names(value(option))) {
    inputs.push_back(std::make_unique<run::Input>(name, option));
    run::ValuesOf how = run::values_of(parsed, run::Fills::values_and_mask);
    const std::string_view dataset = option;  // the domain, in which all cells have values
    if (how.fill == io::Packing::Fill::mask && (dataset == "given" || dataset == "weights"))
      how.fill = io::Packing::Fill::refuse;
    inputs.back()->take_values(how);
    for (const char* output : {"out", "snapshots"}) {
      for (const std::string& out : io::split_names(value(output))) {
        if (!out.empty())
          run::require_distinct_files(io::parse_dataset_name(out, output).file,
                                      inputs.back()->name(), option, output);
      }
    }
    for (const std::string& file : workloads::stencil::checkpoint_files(value("checkpoint")))
      run::require_distinct_files(file, inputs.back()->name(), option, "checkpoint");
  }
  return inputs;
}

std::unique_ptr<run::Input> open_one(const run::Parsed& parsed, const char* option) {
  auto inputs = open(parsed, option);
  require(inputs.size() <= 1, ExitCode::usage,
          fmt::format("--{} accepts one dataset, for all fields", option));
  return inputs.empty() ? nullptr : std::move(inputs.front());
}

void require_checkpoint_of_its_own(const run::Parsed& parsed) {
  const auto require_apart = [](const std::string& other, const char* option,
                                const std::string& file) {
    require(other.empty() || !io::same_file(other, file), ExitCode::usage,
            fmt::format(
                "--checkpoint and --{} name the same file '{}'; name another file for checkpoints",
                option, file));
  };
  for (const std::string& file :
       workloads::stencil::checkpoint_files(parsed.lists.at("checkpoint").front())) {
    require_apart(parsed.lists.at("results").front(), "results", file);
    for (const char* output : {"out", "snapshots"}) {
      for (const std::string& name : io::split_names(parsed.lists.at(output).front()))
        if (!name.empty()) require_apart(io::parse_dataset_name(name, output).file, output, file);
    }
  }
}

workloads::Resolve look(const run::OptionSet& set, const run::Parsed& parsed) {
  check_options(set, parsed);
  require_checkpoint_of_its_own(parsed);
  auto inputs = std::make_shared<workloads::stencil::Inputs>();
  inputs->in = open(parsed, "in");
  inputs->past = open(parsed, "past");
  inputs->given = open(parsed, "given");
  if (parsed.lists.at("weights").front().find(":/") != std::string::npos)
    inputs->weights = open_one(parsed, "weights");
  for (const auto term : workloads::stencil::terms_of_files)
    inputs->terms[static_cast<std::size_t>(term)] = open_one(parsed, name(term).data());
  return workloads::stencil::resolve_with(inputs);
}

}  // namespace
}  // namespace stencil

Command stencil_command() {
  static const run::OptionSet set = stencil::declare();
  return workload_command(workloads::stencil::workload(set),
                          [](run::Parsed& parsed) { return stencil::look(set, parsed); });
}

}  // namespace tessera::apps
