#pragma once
// Checks of user and machine limits, before they end a run with a message of MPI or OpenMP or with
// a crash.

#include <pthread.h>

#include <atomic>
#include <string>
#include <vector>

#include "mpi/communicator.hpp"

namespace tessera::inline v1::run {

/// Idle threads that test whether `threads` threads can run at once; they end with the object.
class ThreadTrial {
 public:
  /// stack_bytes: stack per thread; 0: the system's default, as OpenMP uses.
  explicit ThreadTrial(int threads, index_t stack_bytes = 0);
  ~ThreadTrial();
  ThreadTrial(const ThreadTrial&) = delete;
  ThreadTrial& operator=(const ThreadTrial&) = delete;
  [[nodiscard]] bool all_run() const { return all_run_; }

 private:
  static void* wait(void* self);
  std::atomic<bool> ended_{false};
  std::vector<pthread_t> threads_;
  bool all_run_ = false;
};

/// Returns what may be added to a message of lacking memory: the limit of address space and how to
/// lift it; empty without a limit.
[[nodiscard]] std::string address_space_hint();

/// Throws Error(memory) if this process's limits do not leave what MPI needs to start: address
/// space, open files, threads. Precondition: MPI is not initialised.
void require_room_for_mpi();

/// Throws Error(memory) on all ranks if a rank cannot start a team of `threads` threads while the
/// others hold theirs. Collective.
void require_teams(const mpi::Communicator& comm, int threads);

}  // namespace tessera::inline v1::run
