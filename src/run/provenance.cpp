#include "run/provenance.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/text.hpp"
#include "base/version.hpp"
#include "io/h5.hpp"
#include "machine/isa.hpp"
#include "machine/topology.hpp"
#include "mpi/runtime.hpp"
#include "run/device.hpp"

namespace tessera::inline v1::run {

std::string version() { return TESSERA_VERSION; }
std::string build_name() { return version() + " (" + TESSERA_GIT_DESCRIBE + ")"; }

std::string commit() { return TESSERA_GIT_DESCRIBE; }
std::string build_type() { return TESSERA_BUILD_TYPE; }

std::string quoted(const std::string& word) {
  constexpr const char* plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%^";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string host_name() { return mpi::host_name(); }
std::string mpi_library() { return mpi::library_version(); }

std::map<std::string, io::Value> provenance(const mpi::Communicator& comm, const OptionSet& options,
                                            const Parsed& parsed,
                                            const std::vector<std::string>& arguments,
                                            const std::string& start_time) {
  std::map<std::string, io::Value> result;
  std::vector<std::string> sources;
  for (const Option& option : options.options()) {
    const std::string value = join(parsed.lists.at(option.name), ",");
    result["option_" + option.name] = value;
    if (!option.users.values.empty())
      result["users_" + option.name] = option.users.option + "=" + join(option.users.values, ",");
    if (const auto source = parsed.sources.at(option.name); source != "default") {
      sources.push_back(option.name + " (" + source + ")");
    }
  }
  std::vector<std::string> hosts =
      split(comm.broadcast(join(comm.gather(mpi::host_name(), 0), ","), 0), ',');
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  const char* job = std::getenv("SLURM_JOB_ID");
  result["title"] = "Tessera " + options.command();
  std::string command = "tessera " + options.command();
  for (const std::string& word : arguments) command += " " + quoted(word);
  result["command_line"] = command;
  result["options_set"] = join(sources, ", ");
  std::error_code none;
  result["working_directory"] = std::filesystem::current_path(none).string();
  result["workload"] = options.command();
  result["tessera_version"] = version();
  result["git_describe"] = commit();
  result["build_type"] = build_type();
  result["compiler"] = std::string(__VERSION__);
  result["mpi_library"] = mpi::library_version();
  result["hdf5_version"] = io::library_version();
  result["instruction_set"] = std::string(machine::name(machine::isa()));
  const machine::Topology here = machine::topology();
  result["processor"] = here.processor;
  std::vector<std::string> caches;
  for (const machine::CacheLevel& level : here.caches)
    caches.push_back(level.name + " " + std::to_string(level.bytes));
  result["caches"] = join(caches, ", ");
  if (const machine::Gpus* gpus = concerned_gpus(parsed); gpus != nullptr) {
    std::vector<std::string> names;
    for (const machine::Gpu& gpu : gpus->devices) names.push_back(gpu.name);
    result["gpus"] = comm.broadcast(join(names, ","), 0);  // of the root's node
    result["gpu"] =
        comm.broadcast(names.empty() ? gpus->reason : described(gpus->devices.front()), 0);
    result["cuda_driver"] = comm.broadcast(gpus->driver, 0);
    result["cuda_runtime"] = machine::cuda_version();
  }
  result["hosts"] = join(hosts, ",");
  result["ranks"] = static_cast<index_t>(comm.size());
  result["slurm_job_id"] = std::string(job == nullptr ? "" : job);
  result["start_time"] = comm.broadcast(start_time, 0);
  return result;
}

}  // namespace tessera::inline v1::run
