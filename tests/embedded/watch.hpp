#pragma once
// A program that has MPI for itself and hands Tessera a communicator of some of its ranks: what
// Tessera must not do there is counted by functions in place of MPI's (its profiling interface).

#include <mpi.h>

#include <hdf5.h>

#include <array>
#include <atomic>
#include <csignal>
#include <string>
#include <vector>

namespace tessera::embedded {

/// The communicator that Tessera is given.
inline MPI_Comm part = MPI_COMM_NULL;
/// The thread level that MPI provides.
inline int level = MPI_THREAD_SINGLE;

/// Calls of the watched MPI functions by this process.
inline std::atomic<int> calls{0};
/// Those on MPI_COMM_WORLD.
inline std::atomic<int> calls_on_world{0};
/// Calls of MPI functions by threads that the level forbids.
inline std::atomic<int> calls_by_others{0};

/// Sets the thread that may call MPI at any level.
void begin_watch();

/// What belongs to the process: environment, signal handlers, the printing of HDF5's errors.
struct ProcessState {
  std::vector<std::string> environment;
  std::array<void (*)(int), NSIG> handlers{};
  H5E_auto2_t prints = nullptr;
  void* about = nullptr;
  [[nodiscard]] static ProcessState now();
  bool operator==(const ProcessState&) const = default;
};

/// Scope: keeps what the process writes to standard output and standard error.
class Captured {
 public:
  Captured();
  ~Captured();
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  /// Ends the scope and returns the bytes written.
  long end();

 private:
  int file_, out_, error_;
};

}  // namespace tessera::embedded
