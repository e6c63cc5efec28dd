#include "commands/command.hpp"

#include "transpose/options.hpp"
#include "workloads/transpose/workload.hpp"

namespace tessera::apps {
namespace transpose {
namespace {

workloads::Resolve look(const run::OptionSet& set, const run::Parsed& parsed) {
  check_options(set, parsed);
  auto inputs = std::make_shared<workloads::transpose::Inputs>();
  const auto open = [&](const char* option) -> std::unique_ptr<run::Input> {
    const auto& value = parsed.lists.at(option).front();
    if (value.empty()) return nullptr;
    auto input = std::make_unique<run::Input>(value, option);
    const auto& out = parsed.lists.at("out").front();
    if (!out.empty())
      run::require_distinct_files(io::parse_dataset_name(out, "out").file, input->name(), option);
    return input;
  };
  inputs->in = open("in");
  inputs->c = open("c");
  return workloads::transpose::resolve_with(inputs);
}

}  // namespace
}  // namespace transpose

Command transpose_command() {
  static const run::OptionSet set = transpose::declare();
  return workload_command(workloads::transpose::workload(set),
                          [](run::Parsed& parsed) { return transpose::look(set, parsed); });
}

}  // namespace tessera::apps
