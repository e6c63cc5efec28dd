#include "slurm.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "io/partials.hpp"
#include "io/raw_file.hpp"
#include "run/answer.hpp"
#include "spawn.hpp"

namespace tessera::apps {
namespace slurm {
namespace {

Command command_of(const std::string& workload) {
  for (const auto make : {matmul_command, transpose_command, stencil_command, sort_command}) {
    Command command = make();
    if (command.options.command() == workload) return command;
  }
  throw Error(ExitCode::internal, "unknown workload " + workload);
}

/// Throws Error(cannot_create) if `file` exists with another text, unless it may be replaced and
/// was written by Tessera.
void require_free(const std::string& file, const std::string& text, bool may_replace) {
  if (!io::file_exists(file)) return;
  std::ifstream in(file);
  const std::string old((std::istreambuf_iterator<char>(in)), {});
  if (old == text) return;
  const bool is_ours = old.starts_with("#!/bin/bash\n# tessera slurm ");
  require(
      is_ours, ExitCode::cannot_create,
      fmt::format("'{}' exists and is not a script of `tessera slurm`; give --script another name",
                  file));
  require(may_replace, ExitCode::cannot_create,
          fmt::format("script '{}' exists and differs; give --script another name, or --overwrite",
                      file));
}

/// Writes a batch script.
void write_script(const std::string& file, const std::string& text, bool may_replace) {
  require_free(file, text, may_replace);
  const std::string target = io::behind_links(file), partial = io::partial_name(target);
  io::create_new_file(partial);
  std::ofstream out(partial);
  out << text;
  out.close();
  if (!out) io::discard_partial(partial);
  require(static_cast<bool>(out), ExitCode::cannot_create,
          fmt::format("script '{}' cannot be written", file));
  io::publish_file(partial, target);
  run::answer().append("files", file);
}

/// Writes the script in a child process, then runs sbatch: MPI's environment variables must not
/// reach the job.
ExitCode submit(const run::Parsed& parsed, const Arguments& arguments) {
  std::string script = parsed.lists.at("script").front();
  std::vector<std::string> words{own_program(), "slurm"};
  for (const std::string& word : arguments)
    if (word != "--submit") words.push_back(word);
  if (script.empty()) {
    const std::string name = parsed.lists.at("job-name").front();
    script = (name.empty() ? "tessera-" + parsed.lists.at("job").front() : name) + ".sbatch";
    words.insert(words.end(), {"--script", script});
  }
  if (const int code = run_program(std::move(words)); code != 0) return static_cast<ExitCode>(code);
  const int code = run_program({"sbatch", script});
  require(code != 127, ExitCode::usage,
          fmt::format("sbatch is not in the PATH; submit '{}' on a host with Slurm", script));
  require(code == 0, ExitCode::usage,
          fmt::format("sbatch rejects '{}' (its message is above); change the requested resources",
                      script));
  return ExitCode::ok;
}

Body prepare(run::Parsed parsed, const Arguments& arguments, ExitCode& code) {
  const std::string what = parsed.lists.at("job").front();
  require(!what.empty(), ExitCode::usage, "name a workload, or collect; see tessera slurm --help");
  if (what == "collect") {
    for (const auto& [option, source] : parsed.sources)
      require(
          source != "flag" || option == "job" || option == "results", ExitCode::usage,
          fmt::format("--{} conflicts with collect, which only merges results; drop it", option));
    collect(parsed.rest, parsed.lists.at("results").front());
    return {};
  }
  if (parsed.lists.at("submit").front() == "true") {
    code = submit(parsed, arguments);
    return {};
  }
  complete_from_site(parsed);
  const Job job = read_job(parsed, arguments);
  const Command workload = command_of(job.workload);
  const run::Parsed request = planned(workload, job);
  const Planner plan = workload.plan(request, job.tasks_per_node);
  const std::string script = parsed.lists.at("script").front();
  const bool may_replace = parsed.lists.at("overwrite").front() == "true";
  return [job, request, plan, script, may_replace](const mpi::Communicator& comm) {
    const std::vector<workloads::Need> needs = plan(comm);
    Job whole = job;
    complete(whole, request, needs);
    if (script.empty())
      fmt::print("{}", script_of(whole));
    else
      write_script(script, script_of(whole), may_replace);
    if (!script.empty()) fmt::print("written: {}\n", script);
    return ExitCode::ok;
  };
}

}  // namespace

}  // namespace slurm

Command slurm_command() { return {slurm::declare(), slurm::prepare, RankScope::on_one}; }

}  // namespace tessera::apps
