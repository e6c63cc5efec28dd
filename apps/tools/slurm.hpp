#pragma once
// Shared by the files of the slurm command.

#include <string>
#include <vector>

#include "command.hpp"

namespace tessera::apps::slurm {

/// What a batch script asks for and runs.
struct Job {
  std::string workload;
  Arguments arguments;  ///< of the workload, as they were given
  std::string name;
  index_t nodes = 1, gpus = 0;  ///< GPUs of a node
  index_t tasks_per_node = 1, cpus_per_task = 1;
  index_t array = 0;                    ///< tasks that share the sweep; 0: none
  index_t mebibytes = 0;                ///< of a node
  std::string time;                     ///< as Slurm writes it
  std::vector<std::string> lines = {};  ///< more of what it asks for: "--partition=gpu"
  std::string told = {};                ///< the command line, and what the plan says: comments
  std::string plan = {};

  [[nodiscard]] index_t ranks() const { return nodes * tasks_per_node; }
};

[[nodiscard]] run::OptionSet declare();

/// What the options ask for, except for what only the plan knows: memory and time where they are
/// not given. Throws Error(usage) on what cannot be.
[[nodiscard]] Job read_job(const run::Parsed& parsed, const Arguments& arguments);

/// The workload's own options with the ranks and threads of the job, for its plan.
[[nodiscard]] run::Parsed planned(const Command& workload, const Job& job);

/// Memory and time from what the points need.
void complete(Job& job, const run::Parsed& request, const std::vector<workloads::Need>& needs);

/// The batch script.
[[nodiscard]] std::string script_of(const Job& job);

/// Puts the runs of the files into one: `tessera slurm collect`.
void collect(const Arguments& files, const std::string& into);

}  // namespace tessera::apps::slurm
