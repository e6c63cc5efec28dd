#pragma once
// Lifetime of the MPI library, and abnormal termination of jobs.

#include <exception>
#include <functional>
#include <string>

#include "base/error.hpp"
#include "mpi/communicator.hpp"

namespace tessera::inline v1::mpi {

/// Initialises MPI (thread level serialized, or funneled if the library offers no more), reports
/// crashes (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) in one line with their whereabouts unless the
/// signal has a handler already, and finalises MPI, but only if all ranks agreed to leave: a rank
/// that finalised alone would leave the others waiting for ever.
class Runtime {
 public:
  Runtime(int* argc, char*** argv);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

 private:
  int uncaught_;
};

/// Returns whether MPI was initialised by a Runtime: no other thread of this process calls it then.
[[nodiscard]] bool is_started_here() noexcept;

/// Returns "rank r of p on host, in <phase>".
[[nodiscard]] std::string whereabouts();

/// Ends the whole job: prints one line "tessera: error: <cause> (rank r of p on host, in <phase>)"
/// to stderr, then calls MPI_Abort.
[[noreturn]] void die(ExitCode code, const std::string& cause) noexcept;

/// Converts an exception to an Error: ExitCode::io if writing to standard output failed,
/// ExitCode::memory if a thread cannot start, otherwise ExitCode::internal.
[[nodiscard]] Error error_of(const std::exception& exception);

[[nodiscard]] std::string host_name();
/// Returns the name and version of the MPI library, on one line.
[[nodiscard]] std::string library_version();

/// Runs body between initialisation and finalisation and returns the program's exit code. Prints an
/// error that all ranks agreed on once; any other exception ends the job through die().
[[nodiscard]] int run_main(int* argc, char*** argv,
                           const std::function<ExitCode(const Communicator&)>& body);

/// Prints "tessera: error: <message>" to stderr in one write.
void print_error(const std::string& message) noexcept;
/// Returns the last message of print_error in this process; empty if there was none.
[[nodiscard]] std::string last_error();

/// Sets a function that run_main calls on rank 0 with the exit code of a run that fails, while the
/// launcher still forwards its output.
void before_failure(std::function<void(int code)> report);

/// Waits until the launcher has read all output, at most a few seconds: as soon as one rank has
/// failed, it closes the pipes of the others. No effect without a launcher.
void wait_until_heard() noexcept;
/// Ends the job of a rank that fails before MPI_Init, with that exit code, once its messages are
/// read, where the launcher (hydra: MPICH, Intel MPI) would not notice it and the other ranks would
/// wait in MPI_Init for ever. Allocates nothing.
void end_job_before_mpi(int code) noexcept;

}  // namespace tessera::inline v1::mpi
