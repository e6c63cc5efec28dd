#include "mpi/agreement.hpp"

#include <exception>
#include <new>

#include "mpi/account.hpp"
#include "mpi/runtime.hpp"
#include "mpi/watchdog.hpp"

namespace tessera::mpi {
namespace {

bool agreed = false;  // the last error on this rank's main thread was known to all

struct Failure {
  ExitCode code = ExitCode::ok;
  std::string message;
};

Failure attempt(const std::function<void()>& work) {
  try {
    work();
    return {};
  } catch (const Error& error) {
    return {error.code(), error.what()};
  } catch (const std::bad_alloc&) {
    return {ExitCode::memory, "out of memory; use more ranks or smaller sizes (" + whereabouts() + ")"};
  } catch (const std::exception& exception) {
    const Error error = error_of(exception);
    return {error.code(), std::string(error.what()) + " (" + whereabouts() + ")"};
  }
}

}  // namespace

AgreedError::AgreedError(ExitCode code, const std::string& message) : Error(code, message) { agreed = true; }

bool leaves_alone() noexcept { return std::uncaught_exceptions() > 0 && !agreed; }

void together(const Communicator& comm, const char* name, const std::function<void()>& work) {
  agreed = false;
  const AccountScope account(name);
  enter_phase(name);
  const Failure mine = attempt(work);
  const auto worst = static_cast<int>(comm.max(static_cast<index_t>(mine.code)));
  if (worst == 0) return;
  const bool speaks = static_cast<int>(mine.code) == worst;
  const auto speaker = static_cast<int>(
      -comm.max(speaks ? -static_cast<index_t>(comm.rank()) : -static_cast<index_t>(comm.size())));
  throw AgreedError(static_cast<ExitCode>(worst), comm.broadcast(mine.message, speaker));
}

void on_root(const Communicator& comm, const char* name, const std::function<void()>& work) {
  together(comm, name, [&] {
    if (comm.is_root()) work();
  });
}

}  // namespace tessera::mpi
