#include "mpi/agreement.hpp"

#include <bit>
#include <exception>
#include <limits>
#include <new>
#include <span>
#include <utility>

#include "mpi/account.hpp"
#include "mpi/heartbeat.hpp"
#include "mpi/runtime.hpp"

namespace tessera::mpi {
namespace {

thread_local bool agreed = false;  // all ranks threw the last error of this rank's thread

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
    return {ExitCode::memory,
            "out of memory; use more ranks or smaller sizes (" + whereabouts() + ")"};
  } catch (const std::exception& exception) {
    const Error error = error_of(exception);
    return {error.code(), std::string(error.what()) + " (" + whereabouts() + ")"};
  }
}

/// Throws the error of the lowest rank whose code is `worst`, the maximum over all ranks; returns
/// if it is 0. Collective.
void throw_worst(const Communicator& comm, const Failure& mine, index_t worst) {
  if (worst == 0) return;
  const bool reports = static_cast<index_t>(mine.code) == worst;
  const auto speaker = static_cast<int>(
      -comm.max(reports ? -static_cast<index_t>(comm.rank()) : -static_cast<index_t>(comm.size())));
  throw AgreedError(static_cast<ExitCode>(worst), comm.broadcast(mine.message, speaker), speaker);
}

}  // namespace

AgreedError::AgreedError(ExitCode code, const std::string& message, int rank)
    : Error(code, message), rank_(rank) {
  agreed = true;
}

bool leaves_alone() noexcept { return std::uncaught_exceptions() > 0 && !agreed; }

void together(const Communicator& comm, const char* name, const std::function<void()>& work) {
  agreed = false;
  const AccountScope account(name);
  enter_phase(name);
  const Failure mine = attempt(work);
  throw_worst(comm, mine, comm.max(static_cast<index_t>(mine.code)));
}

void alike(const char* name, const std::function<void()>& work) {
  agreed = false;
  const AccountScope account(name);
  try {
    work();
  } catch (const Error& error) {  // other exceptions are local to this rank
    throw AgreedError(error.code(), error.what());
  }
}

bool Agreement::check(const std::function<void()>& work) {
  if (code_ != ExitCode::ok) return false;
  agreed = false;
  const AccountScope account(name_);
  Failure mine = attempt([&] {
    enter_phase(name_);
    work();
  });
  code_ = mine.code;
  message_ = std::move(mine.message);
  return code_ == ExitCode::ok;
}

std::size_t Agreement::largest(index_t value) {
  values_.push_back(value);
  return values_.size() - 1;
}

std::size_t Agreement::of_root(double value) {
  constexpr index_t least = std::numeric_limits<index_t>::min();  // of any bits
  return largest(comm_.is_root() ? std::bit_cast<index_t>(value) : least);
}

double Agreement::root_value(std::size_t number) const {
  return std::bit_cast<double>(values_[number]);
}

void Agreement::settle() {
  values_.push_back(static_cast<index_t>(code_));
  comm_.max(std::span(values_));
  throw_worst(comm_, {code_, message_}, values_.back());
}

void on_root(const Communicator& comm, const char* name, const std::function<void()>& work) {
  together(comm, name, [&] {
    if (comm.is_root()) work();
  });
}

}  // namespace tessera::mpi
