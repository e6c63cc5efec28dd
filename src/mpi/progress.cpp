#include "mpi/progress.hpp"

#include <chrono>
#include <utility>

#include "mpi/runtime.hpp"

namespace tessera::inline v1::mpi {
namespace {

bool others_may_call() {
  int level = MPI_THREAD_SINGLE;
  check(MPI_Query_thread(&level), "MPI_Query_thread");
  return level == MPI_THREAD_MULTIPLE || (level == MPI_THREAD_SERIALIZED && is_started_here());
}

}  // namespace

ProgressThread::ProgressThread(Request& request) {
  if (!request.test() && others_may_call())
    thread_ = std::thread([this, &request] { ask(request); });
}

ProgressThread::~ProgressThread() { end(); }

void ProgressThread::end() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

void ProgressThread::stop() {
  end();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void ProgressThread::ask(Request& request) {
  // A test takes a few microseconds; during the pause a link of 10 GB/s delivers a megabyte, which
  // fits into buffers.
  constexpr auto pause = std::chrono::microseconds(100);
  try {
    while (!stop_ && !request.test()) std::this_thread::sleep_for(pause);
  } catch (...) {
    failure_ = std::current_exception();
  }
}

}  // namespace tessera::inline v1::mpi
