#pragma once
// Asynchronous file access: prefetch of inputs, and background writes of outputs.

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

#include "base/index.hpp"

namespace tessera::inline v1::io {

/// Bytes moved between files and memory in the background, and the time spent waiting for them.
struct FileTraffic {
  index_t bytes_read = 0, bytes_written = 0;
  double waited = 0;  ///< seconds in wait() for unfinished requests

  FileTraffic& operator+=(const FileTraffic& more) {
    bytes_read += more.bytes_read;
    bytes_written += more.bytes_written;
    waited += more.waited;
    return *this;
  }
  friend FileTraffic operator+(FileTraffic a, const FileTraffic& b) { return a += b; }
};

/// A FIFO executor: runs requests in one background thread, which starts with the first of them and
/// ends with the queue. Several queues run concurrently.
///
/// A request may read and write files with plain calls (RawFile, PlainRows, OutputFile::write). It
/// may call HDF5, which is not thread-safe, only if no other thread does until the request has been
/// waited for; hence at most one queue may. It must not call MPI or enter a phase, which only the
/// main thread does. It may submit requests to this queue, and wait for another queue, but not for
/// this one.
///
/// An exception of a request is rethrown by every wait for it. The queue has then failed: later
/// requests do not run, and their tickets throw the same exception. Thread-safe.
class FileQueue {
 public:
  /// The future of a request, ready when it has ended and released its resources. get() rethrows
  /// its exception.
  using Ticket = std::shared_future<void>;
  using Work = std::function<void()>;

  FileQueue() = default;
  FileQueue(const FileQueue&) = delete;
  FileQueue& operator=(const FileQueue&) = delete;
  /// Waits for all requests; during stack unwinding it drops those that have not begun.
  ~FileQueue();

  /// Submits a request; returns at once.
  Ticket ask(Work work);
  /// Waits for a request, and rethrows its exception; returns at once for an empty ticket. The time
  /// counts as FileTraffic::waited.
  void wait(const Ticket& ticket);
  /// Returns the ticket of the last request, and so of all until now; empty at first.
  [[nodiscard]] Ticket last() const;
  /// Waits until no request is running or pending. Does not throw: tickets do.
  void finish() noexcept;
  /// Drops pending and future requests and waits for the running one: for the end of a run by an
  /// error or a signal. Tickets of dropped requests throw Error(stopped_early).
  void cancel() noexcept;

  /// Count bytes read or written by requests, or by code that replaces them.
  void count_read(index_t bytes);
  void count_written(index_t bytes);
  /// Returns the traffic since the last call, and resets it.
  [[nodiscard]] FileTraffic take_traffic();

 private:
  struct FileRequest {
    Work work;
    std::promise<void> done;
  };
  void serve() noexcept;
  void fail(const std::exception_ptr& error) noexcept;
  void finish(std::unique_lock<std::mutex>& lock) noexcept;

  int exceptions_ = std::uncaught_exceptions();  ///< in flight at construction
  mutable std::mutex mutex_;                     ///< guards all members below
  std::condition_variable wake_, idle_;
  std::deque<FileRequest> requests_;  ///< that have not begun
  Ticket last_;
  std::exception_ptr error_;  ///< the first one, rethrown for later requests
  FileTraffic traffic_;
  bool busy_ = false, ends_ = false;
  std::thread thread_;
};

}  // namespace tessera::inline v1::io
