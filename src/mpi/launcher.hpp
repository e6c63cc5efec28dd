#pragma once
// Detection of the MPI launcher that started this process, if any.

namespace tessera::inline v1::mpi {

/// The launcher as known before MPI_Init; only MPI is authoritative afterwards. Environment
/// variables are trusted only if the server that they name responds and no ancestor process is that
/// rank: shells, batch scripts and programs of other jobs leave their variables to all their
/// children.
struct Launcher {
  bool there = false;   ///< this process is a rank that a launcher waits for
  bool direct = false;  ///< started by the launcher itself, not by a script that it runs
  int rank = 0;         ///< 0 without a launcher
  int node_ranks = 1;   ///< ranks on this node
  int ranks = 1;        ///< ranks of the job; 1 also if the launcher does not state them
};

/// Returns the launcher, detected on first use.
[[nodiscard]] const Launcher& launcher();

/// Makes this process a single rank, regardless of how it was started. To be called before
/// MPI_Init.
void leave_launcher();

/// Returns the rank assigned by the launcher; 0 without one. Available before MPI_Init.
[[nodiscard]] int launcher_rank();
/// Returns the ranks that the launcher started on this node; 1 without one. Available before
/// MPI_Init.
[[nodiscard]] int launcher_node_ranks();

/// Returns the number of tasks of this process's Slurm step if they are not ranks of an MPI job
/// (srun --mpi=none), otherwise 1.
[[nodiscard]] int tasks_without_mpi();

/// Returns whether an environment variable is one that launchers set and MPI libraries read.
[[nodiscard]] bool is_launchers(const char* entry);

}  // namespace tessera::inline v1::mpi
