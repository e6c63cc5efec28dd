#pragma once
// No rank leaves a phase alone: what one rank meets, all learn.

#include <functional>
#include <string>

#include "mpi/communicator.hpp"

namespace tessera::mpi {

/// An error that every rank throws at the same place; the program can end in good order.
class AgreedError : public Error {
 public:
  AgreedError(ExitCode code, const std::string& message);
};

/// An exception that no other rank knows of is on its way: what is freed now must not wait for the others.
/// The job ends with it (run_main).
[[nodiscard]] bool leaves_alone() noexcept;

/// Runs `work` (local: no communication inside) on every rank; if it fails anywhere, every rank throws
/// AgreedError with the message of the lowest failing rank among those with the highest exit code. name is
/// the phase (a literal).
void together(const Communicator& comm, const char* name, const std::function<void()>& work);

/// The same for work of rank 0 alone.
void on_root(const Communicator& comm, const char* name, const std::function<void()>& work);

}  // namespace tessera::mpi
