#include "lab/analyse/gpu_calls.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "base/error.hpp"
#include "base/table.hpp"
#include "base/text.hpp"
#include "lab/analyse/symbols.hpp"

namespace tessera::inline v1::analyse {
namespace {

constexpr double nanosecond = 1e-9;

/// Adds a call to those of its readable name: instances of one template have the same.
void add(std::map<std::string, GpuCall>& calls, const GpuCall& more) {
  const auto [place, is_new] = calls.try_emplace(more.name, more);
  if (is_new) return;
  GpuCall& all = place->second;
  all.calls += more.calls;
  all.seconds += more.seconds;
  all.least = std::min(all.least, more.least);
  all.most = std::max(all.most, more.most);
}

std::vector<GpuCall> by_time(const std::map<std::string, GpuCall>& calls) {
  std::vector<GpuCall> all;
  for (const auto& [name, call] : calls) all.push_back(call);
  std::stable_sort(all.begin(), all.end(),
                   [](const GpuCall& a, const GpuCall& b) { return a.seconds > b.seconds; });
  return all;
}

GpuCall call_of(std::istringstream& line) {
  GpuCall call;
  double total = 0, least = 0, most = 0;
  std::string name;
  line >> call.calls >> total >> least >> most >> std::ws;
  std::getline(line, name);
  require(!line.fail() && call.calls > 0, ExitCode::bad_data,
          "the record of the GPU is damaged; run tessera analyse again");
  call.name = name.starts_with('[') ? name : readable(name);
  call.seconds = total * nanosecond;
  call.least = least * nanosecond;
  call.most = most * nanosecond;
  return call;
}

std::string table_of(const std::string& heading, const std::vector<GpuCall>& calls, index_t top,
                     std::size_t columns) {
  if (calls.empty()) return {};
  double all = 0;
  for (const GpuCall& call : calls) all += call.seconds;
  Table table({"name", "share", "time", "calls", "average", "least", "most"});
  const auto shown = std::min(static_cast<std::size_t>(top), calls.size());
  for (std::size_t c = 0; c < shown; ++c) {
    const GpuCall& call = calls[c];
    table.add({call.name, fmt::format("{:.1f} %", all > 0 ? 100 * call.seconds / all : 0),
               human_seconds(call.seconds), fmt::format("{}", call.calls),
               human_seconds(call.seconds / static_cast<double>(call.calls)),
               human_seconds(call.least), human_seconds(call.most)});
  }
  const auto rest = calls.size() - shown;
  return fmt::format(
      "\n{}, {} in all\n{}{}", heading, human_seconds(all), table.within(columns),
      rest == 0 ? "" : fmt::format("and {}\n", counted(static_cast<index_t>(rest), "other")));
}

}  // namespace

GpuCalls gpu_calls_of(const std::string& text) {
  GpuCalls found;
  std::map<std::string, GpuCall> operations, calls;
  std::istringstream lines(text);
  for (std::string whole; std::getline(lines, whole);) {
    std::istringstream line(whole);
    char kind = 0;
    line >> kind;
    switch (kind) {
      case gpu_calls_format::operation:
        add(operations, call_of(line));
        break;
      case gpu_calls_format::call:
        add(calls, call_of(line));
        break;
      case gpu_calls_format::lost:
        line >> found.lost;
        break;
      case gpu_calls_format::failure:
        std::getline(line >> std::ws, found.failure);
        break;
      default:
        throw Error(ExitCode::bad_data,
                    "the record of the GPU is damaged; run tessera analyse again");
    }
  }
  found.operations = by_time(operations);
  found.calls = by_time(calls);
  return found;
}

std::string text_of(const GpuCalls& found, index_t top, std::size_t columns) {
  std::string out = table_of("operations on GPUs", found.operations, top, columns) +
                    table_of("calls of CUDA", found.calls, top, columns);
  if (found.lost > 0) out += fmt::format("lost: {} of the GPU\n", counted(found.lost, "record"));
  if (!found.failure.empty()) out += fmt::format("\nGPUs are not profiled: {}\n", found.failure);
  return out;
}

}  // namespace tessera::inline v1::analyse
