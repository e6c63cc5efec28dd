#pragma once
// Progress of messages during computation.

#include <atomic>
#include <exception>
#include <thread>

#include "mpi/communicator.hpp"

namespace tessera::mpi {

/// Tests a request repeatedly in a background thread: most MPI libraries move long messages only
/// inside calls, and a computing rank makes none. This rank must not call MPI otherwise until
/// stop(). No thread is started if the library forbids calls from other threads (below
/// MPI_THREAD_SERIALIZED) or the request is complete.
class ProgressThread {
 public:
  explicit ProgressThread(Request& request);
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;
  /// Stops testing; rethrows the error of a failed message.
  void stop();

 private:
  void ask(Request& request);
  void end();
  std::atomic<bool> stop_{false};
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace tessera::mpi
