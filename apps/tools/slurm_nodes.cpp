// The nodes of a partition, which may differ: a script has to suit the smallest.

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/note.hpp"
#include "base/text.hpp"
#include "slurm.hpp"
#include "spawn.hpp"

namespace tessera::apps::slurm {
namespace {

/// Returns the number at the beginning of a text; 0 if there is none.
index_t leading_number(const std::string& text) {
  index_t value = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string text_of(const NodeKind& kind) {
  return fmt::format("{} of {} and {} MiB", counted(kind.count, "node"),
                     counted(kind.cores, "core"), kind.mebibytes);
}

}  // namespace

std::vector<NodeKind> nodes_of(const std::string& partition) {
  std::vector<std::string> words{"sinfo", "--noheader", "--exact", "--format=%P|%D|%X|%Y|%m"};
  if (!partition.empty()) words.push_back("--partition=" + partition);
  std::vector<NodeKind> kinds;
  for (const std::string& line : split(output_of_program(words).value_or(""), '\n')) {
    const auto fields = split(line, '|');
    constexpr std::size_t asked = 5;
    if (fields.size() != asked || (partition.empty() && !fields[0].ends_with('*'))) continue;
    const NodeKind kind{.count = leading_number(fields[1]),
                        .cores = leading_number(fields[2]) * leading_number(fields[3]),
                        .mebibytes = leading_number(fields[4])};
    if (kind.count > 0 && kind.cores > 0) kinds.push_back(kind);
  }
  std::sort(kinds.begin(), kinds.end(), [](const NodeKind& a, const NodeKind& b) {
    return std::pair(a.cores, a.mebibytes) < std::pair(b.cores, b.mebibytes);
  });
  return kinds;
}

index_t mebibytes_of_nodes(const Job& job) {
  std::vector<NodeKind> kinds = job.kinds;
  std::sort(kinds.begin(), kinds.end(),
            [](const NodeKind& a, const NodeKind& b) { return a.mebibytes > b.mebibytes; });
  index_t nodes = 0;
  for (const NodeKind& kind : kinds) {
    if (kind.cores >= job.tasks_per_node * job.cpus_per_task) nodes += kind.count;
    if (nodes >= job.nodes) return kind.mebibytes;
  }
  return 0;
}

void compare_with_nodes(Job& job) {
  const index_t cores = job.tasks_per_node * job.cpus_per_task;
  index_t all = 0, fit = 0;
  std::vector<std::string> words;
  for (const NodeKind& kind : job.kinds) {
    words.push_back(text_of(kind));
    all += kind.count;
    fit += kind.cores >= cores && kind.mebibytes >= job.mebibytes ? kind.count : 0;
  }
  if (fit == all && job.kinds.size() < 2) return;
  job.fitting =
      fmt::format("the partition has {}: {} {} for {} and {} MiB a node", join(words, ", "), fit,
                  fit == 1 ? "suffices" : "suffice", counted(cores, "core"), job.mebibytes);
  if (fit < job.nodes)
    print_note(
        fmt::format("note: {} (sbatch rejects --nodes {}); use more nodes with fewer ranks or "
                    "--cpus-per-task each, smaller sizes, or another --partition",
                    job.fitting, job.nodes));
}

}  // namespace tessera::apps::slurm
