#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "run/provenance.hpp"
#include "slurm.hpp"
#include "spawn.hpp"

namespace tessera::apps::slurm {
namespace {

constexpr index_t own_bytes = index_t{256}
                              << 20;  // code, MPI and HDF5 of a rank: 60 to 150 MiB observed
constexpr double spare = 1.1;
constexpr double set_up_seconds = 600,
                 slower = 3;  // files, checks and a busy machine; an overlong limit delays the
                              // job's start

bool gives(const Job& job, const std::string& option) {
  return std::any_of(job.arguments.begin(), job.arguments.end(), [&](const std::string& word) {
    return word == option || word.starts_with(option + "=");
  });
}

std::string clock(index_t minutes) {
  return minutes < 24 * 60
             ? fmt::format("{}:{:02}:00", minutes / 60, minutes % 60)
             : fmt::format("{}-{:02}:{:02}:00", minutes / 1440, minutes / 60 % 24, minutes % 60);
}

/// Returns the seconds of a time in Slurm's format.
index_t seconds_of(const std::string& time) {
  const auto dash = time.find('-');
  const bool days = dash != std::string::npos;
  const auto fields = split(days ? time.substr(dash + 1) : time, ':');
  index_t seconds = 0;
  for (const std::string& field : fields) seconds = seconds * 60 + std::stoll(field);
  // The shortest forms are minutes and minutes:seconds without days, hours and hours:minutes with
  // them.
  if (days)
    for (std::size_t missing = fields.size(); missing < 3; ++missing) seconds *= 60;
  else if (fields.size() == 1)
    seconds *= 60;
  return seconds + (days ? std::stoll(time.substr(0, dash)) * 24 * 3600 : 0);
}

/// Returns the seconds before the limit at which the job is signalled, for the last step, a
/// checkpoint and the launcher: 120, or less for short limits.
index_t warning_seconds(const std::string& time) {
  return std::min<index_t>(120, std::max<index_t>(10, seconds_of(time) / 5));
}

/// Returns the option of sbatch that requests the GPUs of a node.
std::string gpu_request(const Job& job) {
  std::string option = job.gpu_option;
  const auto number = option.rfind('N');
  return option.replace(number, 1, std::to_string(job.gpus));
}

}  // namespace

void complete(Job& job, const run::Parsed& request, const std::vector<workloads::Need>& needs) {
  require(job.array <= static_cast<index_t>(needs.size()), ExitCode::usage,
          fmt::format("--array {} exceeds the {} of the sweep", job.array,
                      counted(ssize(needs), "point")));
  index_t memory = 0, least = 0;
  double seconds = 0;
  bool known = true;
  job.computes_once = !gives(job, "--repetitions") && !gives(job, "--warmups");
  for (const workloads::Need& need : needs) {
    job.computes_once = job.computes_once && need.repetitions == 1;
    memory = std::max(memory, need.memory);
    least = std::max(least, need.least > 0 ? need.least : need.memory);
    known = known && need.total >= 0;
    seconds += need.total;
  }
  const std::string limit = request.lists.at("memory").front();
  require(limit.empty() || parse_bytes(limit) >= least, ExitCode::usage,
          fmt::format("a rank requires {}: --memory allows {}; use more nodes or smaller sizes",
                      human_bytes(least), limit));
  const auto mebibytes = [&](index_t of_rank) {
    const double node = spare * static_cast<double>(of_rank + own_bytes);
    return ceil_div(static_cast<index_t>(node) * job.tasks_per_node, index_t{1} << 20);
  };
  const index_t enough = mebibytes(least);
  require(
      job.mebibytes == 0 || job.mebibytes >= enough, ExitCode::usage,
      fmt::format(
          "a node with {} requires {} MiB: --mem gives {} MiB; use more nodes or increase --mem",
          counted(job.tasks_per_node, "rank"), enough, job.mebibytes));
  if (job.mebibytes == 0) {
    const index_t there = mebibytes_of_nodes(job);
    job.mebibytes = mebibytes(memory);
    if (job.mebibytes > there && there >= enough) job.mebibytes = there;
  }
  compare_with_nodes(job);
  if (job.array > 0) seconds /= static_cast<double>(job.array);
  job.plan = fmt::format(
      "{} on {} x {}; a rank holds {} at most; {}", counted(ssize(needs), "point"),
      counted(job.ranks(), "rank"), counted(job.cpus_per_task, "thread"), human_bytes(memory),
      known ? fmt::format("predicted {} on nodes like {}", human_seconds(seconds), run::host_name())
            : "time unknown");
  if (!job.time.empty()) return;
  require(known, ExitCode::usage,
          "the time is unknown: this machine was not measured; give --time, or run `tessera "
          "machine` once");
  job.time = clock(static_cast<index_t>(std::ceil((set_up_seconds + slower * seconds) / 60)));
}

std::string script_of(const Job& job) {
  std::string text = fmt::format("#!/bin/bash\n# {}\n# {}\n", job.command_line, job.plan);
  if (!job.fitting.empty()) text += "# " + job.fitting + "\n";
  const auto ask = [&](const std::string& line) { text += "#SBATCH " + line + "\n"; };
  ask("--job-name=" + job.name);
  if (job.array > 0) ask(fmt::format("--array=1-{}", job.array));
  ask(fmt::format("--nodes={}", job.nodes));
  ask(fmt::format("--ntasks-per-node={}", job.tasks_per_node));
  ask(fmt::format("--cpus-per-task={}", job.cpus_per_task));
  ask("--hint=nomultithread");
  if (job.gpus > 0) ask(gpu_request(job));
  ask(fmt::format("--mem={}M", job.mebibytes));
  ask("--time=" + job.time);
  ask(fmt::format("--signal=B:USR1@{}", warning_seconds(job.time)));
  ask("--requeue");
  ask("--open-mode=append");
  ask(job.array > 0 ? "--output=%x-%A_%a.out" : "--output=%x-%j.out");
  for (const std::string& line : job.lines) ask(line);  // last: they take precedence
  text += job.prologue;  // before strict mode, which many module commands do not pass
  text += "set -euo pipefail\ncd \"$SLURM_SUBMIT_DIR\"\n";
  text += ". " + run::quoted(installed_file(TESSERA_ENV_INSTALLED, TESSERA_ENV_BUILD)) + "\n";
  if (job.gpus > 0)
    text += "export TESSERA_DEVICE=${TESSERA_DEVICE:-gpu}\n";  // before a config
                                                               // file's value
  text += fmt::format("tessera_job \"$SLURM_NTASKS\" \"$SLURM_CPUS_PER_TASK\" {} {}",
                      run::quoted(own_program()), job.workload);
  for (const std::string& word : job.arguments) text += " " + run::quoted(word);
  if (job.array > 0) text += fmt::format(" --part \"$SLURM_ARRAY_TASK_ID/{}\"", job.array);
  if (!gives(job, "--results")) {
    text += job.array > 0
                ? fmt::format(" --results \"{}-{}/$SLURM_ARRAY_TASK_ID.h5\"", job.name, job.array)
                : fmt::format(" --results {}.h5", job.name);
    if (job.computes_once) text += " --repetitions 1 --warmups 0";
  }
  if (!gives(job, "--resume")) text += " --resume auto";
  return text + "\n";
}

}  // namespace tessera::apps::slurm
