// Values of output options as names of datasets.

#include "workloads/frame/workload.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "io/dataset.hpp"

namespace tessera::inline v1::workloads {

bool names(const run::Parsed& parsed, const char* option) {
  const auto list = parsed.lists.find(option);
  return list != parsed.lists.end() && !list->second.front().empty();
}

std::vector<NamedOutput> named_outputs(const Workload& workload, const run::Parsed& parsed) {
  std::vector<NamedOutput> named;
  for (const OutputOption& output : workload.outputs) {
    if (!names(parsed, output.option)) continue;
    const std::string& text = parsed.lists.at(output.option).front();
    named.push_back({&output, output.names == OutputOption::Names::datasets ? io::split_names(text)
                                                                            : std::vector{text}});
  }
  return named;
}

std::string discarded_note(const Workload& workload, const run::Parsed& parsed) {
  const auto& [result, other] = workload.discarded;
  const bool from_files = names(parsed, "in") || names(parsed, "a");
  const bool wanted =
      !named_outputs(workload, parsed).empty() || names(parsed, "results") ||
      std::ranges::any_of(other, [&](const char* option) { return names(parsed, option); });
  if (result == nullptr || !from_files || wanted || parsed.lists.at("plan").front() == "true")
    return "";
  return fmt::format("note: {} discarded; write --out FILE:/PATH to keep the result", result);
}

void compute_once(const Workload& workload, run::Parsed& parsed) {
  if (named_outputs(workload, parsed).empty() || names(parsed, "results")) return;
  if (workload.options->points(parsed).size() != 1) return;
  for (const char* option : {"repetitions", "warmups"})
    if (parsed.sources.at(option) != "default") return;
  parsed.lists.at("repetitions") = {"1"};
  parsed.lists.at("warmups") = {"0"};
}

}  // namespace tessera::inline v1::workloads
