#pragma once
// `tessera doctor`: checks of the environment, a function per subject. Each reports what is fine,
// what to know, and problems with their fixes.

#include <optional>
#include <string>
#include <vector>

#include "base/index.hpp"

namespace tessera::apps::doctor {

enum class Level { fine, note, hurts };

struct Finding {
  Level level = Level::fine;
  std::string subject;
  std::string what;
  std::string cure = {};  ///< a command or a setting, ready to copy
};

/// Environment to examine.
struct Surroundings {
  std::string root;    ///< prefix of /proc, /sys and /dev: "" for this machine
  std::string folder;  ///< folder of data and results
  int ranks = 0;       ///< of the planned job, on this node; 0: unknown
  int threads = 0;     ///< per rank
  int cores = 1;       ///< available to this process

  /// Returns the content of a file below the root, without the trailing newline; nullopt if it
  /// cannot be read.
  [[nodiscard]] std::optional<std::string> read(const std::string& path) const;
  [[nodiscard]] bool exists(const std::string& path) const;
};

using Findings = std::vector<Finding>;

/// Returns a variable of the environment; an empty one counts as unset.
[[nodiscard]] std::optional<std::string> variable(const char* name);

void look_at_machine(const Surroundings& here, Findings& found);  ///< quota, governor, load, memory
void look_at_limits(const Surroundings& here, Findings& found);   ///< ulimit
void look_at_shared_memory(const Surroundings& here, Findings& found);
void look_at_openmp(const Surroundings& here, Findings& found);
void look_at_launcher(const Surroundings& here, Findings& found);  ///< mpirun and its requirements
void look_at_binding(const Surroundings& here,
                     Findings& found);  ///< ranks and threads against cores
void look_at_slurm(const Surroundings& here, Findings& found);
void look_at_gpus(const Surroundings& here, Findings& found);
void look_at_files(const Surroundings& here, Findings& found);  ///< file system, locks, space, HDF5
void look_at_tessera(const Surroundings& here,
                     Findings& found);  ///< its variables, ceilings, Python

}  // namespace tessera::apps::doctor
