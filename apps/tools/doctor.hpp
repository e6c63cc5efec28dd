#pragma once
// `tessera doctor`: what it looks at, a function a subject; each says what is fine, what to know,
// and what will hurt together with the cure.

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
  std::string cure = {};  ///< a command or a setting, ready to be copied
};

/// What the doctor is shown.
struct Surroundings {
  std::string root;    ///< before /proc, /sys and /dev: "" is this machine
  std::string folder;  ///< where data and results go
  int ranks = 0;       ///< of the job that is meant, on this node; 0: nobody said
  int threads = 0;     ///< of a rank
  int cores = 1;       ///< that this process may use

  /// The whole text of a file below the root, without its last line end; nothing if it cannot be
  /// read.
  [[nodiscard]] std::optional<std::string> read(const std::string& path) const;
  [[nodiscard]] bool exists(const std::string& path) const;
};

using Findings = std::vector<Finding>;

/// A variable of the environment; "" is as good as unset.
[[nodiscard]] std::optional<std::string> variable(const char* name);

void look_at_machine(const Surroundings& here, Findings& found);  ///< quota, governor, load, memory
void look_at_limits(const Surroundings& here, Findings& found);   ///< ulimit
void look_at_shared_memory(const Surroundings& here, Findings& found);
void look_at_openmp(const Surroundings& here, Findings& found);
void look_at_launcher(const Surroundings& here, Findings& found);  ///< mpirun and what it needs
void look_at_binding(const Surroundings& here,
                     Findings& found);  ///< ranks and threads against cores
void look_at_slurm(const Surroundings& here, Findings& found);
void look_at_gpus(const Surroundings& here, Findings& found);
void look_at_files(const Surroundings& here, Findings& found);  ///< file system, locks, space, HDF5
void look_at_tessera(const Surroundings& here,
                     Findings& found);  ///< its own variables, ceilings, Python

}  // namespace tessera::apps::doctor
