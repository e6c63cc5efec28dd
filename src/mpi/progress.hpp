#pragma once
// Progress of messages during computation.

#include <atomic>
#include <exception>
#include <thread>

#include "mpi/communicator.hpp"

namespace tessera::inline v1::mpi {

/// Tests a request repeatedly in a background thread: most MPI libraries move long messages only
/// inside calls, and a computing rank makes none. This rank must not call MPI otherwise until
/// stop(). No thread is started if the request is complete or calls from other threads are
/// forbidden: below MPI_THREAD_MULTIPLE, except that with MPI_THREAD_SERIALIZED the program's own
/// Runtime knows that no other thread calls MPI.
class ProgressThread {
 public:
  explicit ProgressThread(Request& request);
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;
  [[nodiscard]] bool runs() const { return thread_.joinable(); }
  /// Stops testing; rethrows the error of a failed message.
  void stop();

 private:
  void ask(Request& request);
  void end();
  std::atomic<bool> stop_{false};
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace tessera::inline v1::mpi
