#pragma once
// The life of the MPI library, and the end of a job that cannot go on.

#include <exception>
#include <functional>
#include <string>

#include "base/error.hpp"
#include "mpi/communicator.hpp"

namespace tessera::mpi {

/// Initialises MPI (thread level serialized, or funneled where the library has no more), has every
/// crash (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) told in one line with its whereabouts, where
/// nobody else cares for that signal already, and finalises MPI, but only when all ranks agreed
/// that they leave: a rank that finalised alone would leave the others waiting for ever.
class Runtime {
 public:
  Runtime(int* argc, char*** argv);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

 private:
  int uncaught_;
};

/// "rank r of p on host, in <phase>".
[[nodiscard]] std::string whereabouts();

/// Ends the whole job: one line "tessera: error: <cause> (rank r of p on host, in <phase>)" on
/// stderr, then MPI_Abort.
[[noreturn]] void die(ExitCode code, const std::string& cause) noexcept;

/// What an exception that is no Error means: ExitCode::io where standard output took nothing any
/// more.
[[nodiscard]] Error error_of(const std::exception& exception);

[[nodiscard]] std::string host_name();
/// The library's own name and version, on one line.
[[nodiscard]] std::string library_version();

/// Runs body between initialisation and finalisation and returns the program's exit code. An error
/// that all ranks agreed on is printed once; any other exception ends the job through die().
[[nodiscard]] int run_main(int* argc, char*** argv,
                           const std::function<ExitCode(const Communicator&)>& body);

/// "tessera: error: <message>" on stderr in one write.
void print_error(const std::string& message) noexcept;

/// Waits until whoever reads the pipe that stderr is has taken what was said: a launcher closes the
/// pipes of the ranks that are left as soon as one has failed. At most a few seconds.
void wait_until_heard() noexcept;

}  // namespace tessera::mpi
