#include "mpi/agreement.hpp"

#include <bit>
#include <chrono>
#include <exception>
#include <limits>
#include <new>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include "mpi/account.hpp"
#include "mpi/heartbeat.hpp"
#include "mpi/runtime.hpp"
#include "mpi/tags.hpp"

namespace tessera::inline v1::mpi {
namespace {

thread_local bool agreed = false;  // all ranks threw the last error of this rank's thread

/// Returns the error of `work`, or nothing.
std::optional<Error> attempt(const std::function<void()>& work) {
  try {
    work();
    return {};
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(ExitCode::memory,
                 "out of memory; use more ranks or smaller sizes (" + whereabouts() + ")");
  } catch (const std::exception& exception) {
    const Error error = error_of(exception);
    return Error(error.code(), std::string(error.what()) + " (" + whereabouts() + ")");
  }
}

index_t code_of(const std::optional<Error>& failure) {
  return static_cast<index_t>(failure ? failure->code() : ExitCode::ok);
}

/// Returns the error of rank `speaker` on every rank. Collective.
Error error_of_rank(const Communicator& comm, const std::optional<Error>& mine, ExitCode code,
                    int speaker) {
  const std::string message = comm.broadcast(std::string(mine ? mine->what() : ""), speaker);
  std::size_t argument = mine ? mine->argument().size() : 0;
  comm.broadcast(std::span(&argument, 1), speaker);
  if (argument == 0) return {code, message};
  const std::string_view whole = message;
  return Error::of_argument(whole.substr(0, argument), whole.substr(argument + 1));
}

/// Throws the error of the lowest rank whose code is `worst`, the maximum over all ranks; returns
/// if it is 0. Collective.
void throw_worst(const Communicator& comm, const std::optional<Error>& mine, index_t worst) {
  if (worst == 0) return;
  const bool reports = code_of(mine) == worst;
  const auto speaker = static_cast<int>(
      -comm.max(reports ? -static_cast<index_t>(comm.rank()) : -static_cast<index_t>(comm.size())));
  throw AgreedError(error_of_rank(comm, mine, static_cast<ExitCode>(worst), speaker), speaker);
}

}  // namespace

AgreedError::AgreedError(ExitCode code, const std::string& message)
    : AgreedError(Error(code, message)) {}

AgreedError::AgreedError(Error error, int rank) : Error(std::move(error)) {
  set_rank(rank);
  agreed = true;
}

bool leaves_alone() noexcept { return std::uncaught_exceptions() > 0 && !agreed; }

void together(const Communicator& comm, const char* name, const std::function<void()>& work) {
  agreed = false;
  const AccountScope account(name);
  enter_phase(name);
  const std::optional<Error> mine = attempt(work);
  throw_worst(comm, mine, comm.max(code_of(mine)));
}

void alike(const char* name, const std::function<void()>& work) {
  agreed = false;
  const AccountScope account(name);
  try {
    work();
  } catch (const Error& error) {  // other exceptions are local to this rank
    throw AgreedError(error);
  }
}

bool Agreement::check(const std::function<void()>& work) {
  if (failure_) return false;
  agreed = false;
  const AccountScope account(name_);
  failure_ = attempt([&] {
    enter_phase(name_);
    work();
  });
  return !failure_;
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
  values_.push_back(code_of(failure_));
  comm_.max(std::span(values_));
  throw_worst(comm_, failure_, values_.back());
}

void on_root(const Communicator& comm, const char* name, const std::function<void()>& work) {
  together(comm, name, [&] {
    if (comm.is_root()) work();
  });
}

void on_root_alone(const Communicator& comm, const char* name, const std::function<void()>& work) {
  std::exception_ptr failure;
  std::byte done{};
  if (comm.is_root()) {
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
    std::vector<Request> sent;
    for (int rank = 1; rank < comm.size(); ++rank)
      sent.push_back(comm.send(std::span(&done, 1), rank, tag::root_alone));
    wait_all(sent);
  } else {
    Request finished = comm.receive(std::span(&done, 1), 0, tag::root_alone);
    while (!finished.test()) {
      heartbeat();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  on_root(comm, name, [&] {
    if (failure) std::rethrow_exception(failure);
  });
}

}  // namespace tessera::inline v1::mpi
