#include <fmt/core.h>

#include <algorithm>
#include <regex>

#include "base/text.hpp"
#include "machine/topology.hpp"
#include "slurm.hpp"

namespace tessera::apps::slurm {
namespace {

using run::Kind;

/// Returns whether a text is minutes, minutes:seconds, hours:minutes:seconds, or
/// days-hours[:minutes[:seconds]].
bool is_slurm_time(const std::string& text) {
  static const std::regex form("[0-9]+(:[0-9]{1,2}){0,2}|[0-9]+-[0-9]{1,2}(:[0-9]{1,2}){0,2}");
  return std::regex_match(text, form);
}

std::string value(const run::Parsed& parsed, const char* option) {
  return parsed.lists.at(option).front();
}

index_t number(const run::Parsed& parsed, const char* option, index_t otherwise) {
  const std::string text = value(parsed, option);
  return text.empty() ? otherwise : std::stoll(text);
}

void check_gpus(const Job& job) {
  require(
      job.gpus == 0 || job.tasks_per_node % job.gpus == 0, ExitCode::usage,
      fmt::format(
          "{} ranks a node cannot share {} GPUs evenly; give --tasks-per-node a multiple of --gpus",
          job.tasks_per_node, job.gpus));
}

void check_arguments(const Job& job) {
  for (const std::string& word : job.arguments) {
    const std::string name = word.substr(0, word.find('='));
    require(
        name != "--ranks" && name != "--plan" && name != "--part", ExitCode::usage,
        fmt::format("{} is set by the script; use --nodes, --tasks-per-node and --array", name));
    require(name != "--again", ExitCode::usage,
            "--again conflicts with requeued jobs: each start would measure all points again; name "
            "a new results file");
  }
}

void add_resources(run::OptionSet& set) {
  const auto count = [&](const char* name, const char* help, double low) {
    set.add({.name = name,
             .kind = Kind::integer,
             .help = help,
             .group = "Resources",
             .low = low,
             .high = 1e6});
  };
  count("nodes", "Request N nodes (default 1)", 1);
  count("gpus",
        "Request N GPUs per node (default 0). For matmul: kernel cuda_tensor unless --kernel or "
        "TESSERA_KERNEL names another.",
        0);
  count("tasks-per-node",
        "Start N ranks per node. Default: one per GPU, else one per NUMA node of this machine.", 1);
  count("cpus-per-task",
        "Request N cores per rank, a thread each. Default: its share of the cores of the "
        "partition's smallest node, or of this machine without sinfo.",
        1);
  count(
      "array",
      "Share a sweep among N tasks of a job array. sbatch --array=3,5 SCRIPT repeats two of them.",
      1);
  set.add({.name = "mem",
           .kind = Kind::bytes,
           .help = "Request this memory per node (default: the plan)",
           .group = "Resources",
           .low = 1});
  set.add({.name = "time",
           .help = "Limit the time, in the notation of Slurm. Default: from the plan.",
           .group = "Resources",
           .value = "TIME"});
}

/// Returns the words of --sbatch. Throws Error(usage) for a line break, and for options that the
/// script sets from the plan.
std::string free_options(const std::string& text) {
  require(text.find('\n') == std::string::npos, ExitCode::usage,
          "--sbatch has a line break; separate options by blanks");
  require(text.empty() || text.starts_with('-'), ExitCode::usage,
          fmt::format("--sbatch '{}' does not begin with an option; write --sbatch='--exclusive'",
                      text));
  for (const std::string& word : split(text, ' ')) {
    const std::string name = word.substr(0, word.find('='));
    for (const char* planned : {"--nodes", "--ntasks-per-node", "--ntasks", "--cpus-per-task",
                                "--array", "--mem", "--time", "-N", "-n", "-c", "-a", "-t"})
      require(name != planned, ExitCode::usage,
              fmt::format("--sbatch has {}, which the plan needs; give it to tessera slurm as "
                          "--nodes, --tasks-per-node, --cpus-per-task, --array, --mem or --time",
                          name));
  }
  return text;
}

}  // namespace

run::OptionSet declare() {
  run::OptionSet set("slurm", "Write a batch script for a workload; merge results of jobs",
                     {"tessera slurm matmul --n 65536 --nodes 4 --gpus 4 > job.sbatch",
                      "tessera slurm stencil --steps 1e5 --checkpoint ck.h5 --nodes 16 --submit",
                      "tessera slurm sort --config configs/sort/variants.toml --array 8 --submit",
                      "tessera slurm collect tessera-sort-8/*.h5 --results sort.h5"});
  set.add({.name = "job",
           .kind = Kind::choice,
           .help = "Name a workload and its options, or collect. collect takes results files.",
           .group = "Job",
           .choices = {"matmul", "transpose", "stencil", "sort", "collect"},
           .positional = true});
  add_resources(set);
  set.add(
      {.name = "job-name", .help = "Name the job (default tessera-WORKLOAD)", .group = "Script"});
  set.add({.name = "script",
           .help = "Write the script to a file (default: print it)",
           .group = "Script",
           .value = "FILE"});
  set.add({.name = "overwrite",
           .kind = Kind::flag,
           .help = "Replace a script that Tessera has written",
           .group = "Script"});
  set.add({.name = "submit",
           .kind = Kind::flag,
           .help = "Submit the script with sbatch",
           .group = "Script"});
  add_site_options(set);
  set.add({.name = "site",
           .help = "Read options of this group from a TOML file. Default: "
                   "tessera/site.toml in XDG_CONFIG_HOME or ~/.config, if it exists.",
           .group = "Site",
           .value = "FILE"});
  set.add({.name = "results",
           .help = "Write the runs that collect merges to this file",
           .group = "Script",
           .value = "FILE"});
  set.pass_on_rest();
  set.lead_with({"job", "nodes", "gpus", "tasks-per-node", "time", "array", "submit"});
  return set;
}

Job read_job(const run::Parsed& parsed, const Arguments& arguments) {
  Job job;
  job.workload = value(parsed, "job");
  job.arguments = parsed.rest;
  job.command_line = "tessera slurm " + join(arguments, " ");
  std::replace(job.command_line.begin(), job.command_line.end(), '\n',
               ' ');  // it becomes one comment line
  job.nodes = number(parsed, "nodes", 1);
  job.gpus = number(parsed, "gpus", 0);
  job.array = number(parsed, "array", 0);
  const machine::Topology here = machine::topology();
  job.kinds = nodes_of(value(parsed, "partition"));
  const index_t cores = job.kinds.empty() ? here.cores : job.kinds.front().cores;
  job.tasks_per_node =
      number(parsed, "tasks-per-node",
             job.gpus > 0 ? job.gpus : std::clamp<index_t>(here.numa_nodes, 1, cores));
  job.cpus_per_task =
      number(parsed, "cpus-per-task", std::max<index_t>(1, cores / job.tasks_per_node));
  job.name =
      value(parsed, "job-name").empty() ? "tessera-" + job.workload : value(parsed, "job-name");
  require(job.name.find_first_of("/% \"'\\$`\n") == std::string::npos, ExitCode::usage,
          fmt::format("--job-name '{}' is part of file names; leave out /, %, quotes and blanks",
                      job.name));
  job.time = value(parsed, "time");
  require(
      job.time.empty() || is_slurm_time(job.time), ExitCode::usage,
      fmt::format(
          "--time '{}' is not a time of Slurm; write minutes, hours:minutes:seconds or days-hours",
          job.time));
  if (const std::string memory = value(parsed, "mem"); !memory.empty())
    job.mebibytes = std::max<index_t>(1, parse_bytes(memory) >> 20);
  for (const char* option : {"partition", "account", "qos", "constraint"}) {
    const std::string text = value(parsed, option);
    require(text.find_first_of(" \"'\n") == std::string::npos, ExitCode::usage,
            fmt::format("--{} '{}' contains blanks or quotes", option, text));
    if (!text.empty()) job.lines.push_back(fmt::format("--{}={}", option, text));
  }
  if (const std::string free = free_options(value(parsed, "sbatch")); !free.empty())
    job.lines.push_back(free);
  job.gpu_option = value(parsed, "gpu-option");
  require(job.gpu_option.starts_with("--") &&
              job.gpu_option.find_first_of(" \n") == std::string::npos &&
              job.gpu_option.find('N') != std::string::npos,
          ExitCode::usage,
          fmt::format("--gpu-option '{}' is not an option of sbatch with N in the place of the "
                      "number; write --gpu-option=--gres=gpu:N",
                      job.gpu_option));
  job.prologue = prologue_of(parsed);
  // Appends --results, unless given after the workload, where it is the workload's option.
  if (const std::string results = value(parsed, "results"); !results.empty()) {
    job.arguments.emplace_back("--results");
    job.arguments.push_back(results);
  }
  check_gpus(job);
  check_arguments(job);
  return job;
}

run::Parsed planned(const Command& workload, const Job& job) {
  run::Parsed request = workload.options.parse(job.arguments);
  require(job.ranks() <= 4096, ExitCode::usage,
          fmt::format("{} nodes of {} ranks are {} ranks: plans support at most 4096", job.nodes,
                      job.tasks_per_node, job.ranks()));
  request.lists["ranks"] = {std::to_string(job.ranks())};
  request.lists["plan"] = {"true"};
  for (std::string& threads : request.lists["threads"]) {
    require(
        std::stoll(threads) <= job.cpus_per_task, ExitCode::usage,
        fmt::format("--threads {} ({}) exceeds the {} cores of a rank; increase --cpus-per-task",
                    threads, request.sources["threads"], job.cpus_per_task));
    if (threads == "0") threads = std::to_string(job.cpus_per_task);
  }
  return request;
}

}  // namespace tessera::apps::slurm
