#include "mpi/agreement.hpp"

#include <new>

#include "mpi/watchdog.hpp"

namespace tessera::mpi {
namespace {

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
    return {ExitCode::memory, "out of memory; use more ranks or smaller sizes"};
  } catch (const std::exception& error) {
    return {ExitCode::internal, error.what()};
  }
}

}  // namespace

void together(const Communicator& comm, const char* name, const std::function<void()>& work) {
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
