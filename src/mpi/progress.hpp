#pragma once
// Messages that travel while their rank computes.

#include <atomic>
#include <exception>
#include <thread>

#include "mpi/communicator.hpp"

namespace tessera::mpi {

/// While it lives, a thread of its own asks for a request over and over: most MPI libraries move
/// long messages only inside calls, and whoever computes makes none. Nobody else on this rank calls
/// MPI meanwhile. Where the library allows no other thread to call it (below
/// MPI_THREAD_SERIALIZED), or all is done, there is no thread.
class Progress {
 public:
  explicit Progress(Request& request);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// No more asking; throws what a message failed with.
  void stop();

 private:
  void ask(Request& request);
  void end();
  std::atomic<bool> stop_{false};
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace tessera::mpi
