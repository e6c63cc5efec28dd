#pragma once
// Declarations shared by the files of the slurm command.

#include <string>
#include <vector>

#include "commands/command.hpp"

namespace tessera::apps::slurm {

/// Alike nodes of a partition.
struct NodeKind {
  index_t count = 0;
  index_t cores = 0;      ///< of a node
  index_t mebibytes = 0;  ///< of a node
};

/// Returns the nodes of a partition, of the default one if it is empty, as sinfo prints them; none
/// if sinfo is not in the PATH or has no answer.
[[nodiscard]] std::vector<NodeKind> nodes_of(const std::string& partition);

/// Contents of a batch script.
struct Job {
  std::string workload;
  Arguments arguments;  ///< of the workload, as given
  std::string name;
  index_t nodes = 1, gpus = 0;  ///< gpus: per node
  index_t tasks_per_node = 1, cpus_per_task = 1;
  index_t array = 0;                    ///< tasks that share the sweep; 0: no array
  index_t mebibytes = 0;                ///< per node
  std::string time;                     ///< in Slurm's format
  std::vector<std::string> lines = {};  ///< further sbatch options: "--partition=gpu"
  std::string gpu_option = {};          ///< requests GPUs; N is their number
  std::string prologue = {};            ///< lines to run before the program
  std::string command_line = {};        ///< comments: the command line, and the plan's output
  std::string plan = {};
  std::vector<NodeKind> kinds = {};  ///< of the partition's nodes; empty if unknown
  std::string fitting = {};          ///< comment: the nodes that suffice, where nodes differ
  bool computes_once = false;        ///< as planned without a results file; see compute_once

  [[nodiscard]] index_t ranks() const { return nodes * tasks_per_node; }
};

[[nodiscard]] run::OptionSet declare();

/// Adds the options that a site file may set.
void add_site_options(run::OptionSet& set);

/// Gives options that have neither a flag nor a variable the values of the site file: --site,
/// $TESSERA_SITE, else tessera/site.toml under $XDG_CONFIG_HOME or ~/.config if it exists. Throws
/// Error(usage, missing_input) naming file and line.
void complete_from_site(run::Parsed& parsed);

/// Returns the lines that load --modules and those of --prologue.
[[nodiscard]] std::string prologue_of(const run::Parsed& parsed);

/// Returns the job that the options request; memory and time that are not given remain for
/// complete(). Throws Error(usage) for invalid requests.
[[nodiscard]] Job read_job(const run::Parsed& parsed, const Arguments& arguments);

/// Returns the workload's options with the job's ranks and threads, for its plan.
[[nodiscard]] run::Parsed planned(const Command& workload, const Job& job);

/// Sets memory and time from the needs of the points.
void complete(Job& job, const run::Parsed& request, const std::vector<workloads::Need>& needs);

/// Returns the memory of the job's smallest node, if Slurm gives it the largest nodes that have its
/// cores; 0 if there are not enough.
[[nodiscard]] index_t mebibytes_of_nodes(const Job& job);

/// Names the nodes that suffice for the job if the partition's nodes differ or are too small.
/// Prints a note if they are fewer than the job's.
void compare_with_nodes(Job& job);

/// Returns the batch script.
[[nodiscard]] std::string script_of(const Job& job);

/// Copies the runs of the files into one file: `tessera slurm collect`.
void collect(const Arguments& files, const std::string& into);

}  // namespace tessera::apps::slurm
