#pragma once
// What started this process: a launcher of MPI ranks that lives, or nobody.

namespace tessera::mpi {

/// What is known before MPI is initialised, which alone tells the truth afterwards. Variables are
/// believed only where the server that they name answers and no process above this one is that rank
/// already: a shell, a batch script or a program of another job leaves its variables to whatever it
/// starts.
struct Launcher {
  bool there = false;   ///< this process is a rank that a launcher waits for
  bool direct = false;  ///< by the launcher itself, and not by a script that it runs
  int rank = 0;         ///< 0 where no launcher is there
  int node_ranks = 1;   ///< on this node
};

/// Looked at once, when it is asked for the first time.
[[nodiscard]] const Launcher& launcher();

/// From now on this process is one rank alone, whatever started it. Before MPI is initialised.
void leave_launcher();

/// The rank that the launcher gave this process, known before MPI is initialised; 0 without a
/// launcher.
[[nodiscard]] int launcher_rank();
/// The ranks that the launcher put on this node, likewise; 1 without a launcher.
[[nodiscard]] int launcher_node_ranks();

/// The tasks of the Slurm step that this process belongs to where none of them is a rank of an MPI
/// job: srun
/// --mpi=none starts them so. 1 elsewhere.
[[nodiscard]] int tasks_without_mpi();

/// Whether a variable of the environment is one that launchers set and the MPI library reads.
[[nodiscard]] bool is_launchers(const char* entry);

}  // namespace tessera::mpi
