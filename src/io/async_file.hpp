#pragma once
// Files beside computing: what is read ahead of its use, and written behind it.

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

#include "base/index.hpp"

namespace tessera::io {

/// What went between files and memory beside computing, and what that cost.
struct FileTraffic {
  index_t bytes_read = 0, bytes_written = 0;
  double waited = 0;  ///< seconds for which somebody had nothing else to do

  FileTraffic& operator+=(const FileTraffic& more) {
    bytes_read += more.bytes_read;
    bytes_written += more.bytes_written;
    waited += more.waited;
    return *this;
  }
  friend FileTraffic operator+(FileTraffic a, const FileTraffic& b) { return a += b; }
};

/// Does requests one after the other, in the order in which they come, in one thread of its own
/// that lives from the first of them to the end of the queue. Two queues go on beside each other.
///
/// A request may read and write files with plain calls (RawFile, PlainRows, OutputFile::write). It
/// may call HDF5, which is not made for several threads, where nobody else does until the request
/// has been waited for; so one queue at most does. It makes no MPI call and enters no phase: those
/// are the main thread's. It may ask this queue for more, and wait for another, not for this one.
///
/// What a request throws is told to whoever waits for it. The queue has failed then: later requests
/// do not run, and their tickets throw the same. Any thread may call.
class FileQueue {
 public:
  /// Of one request: ready when that has ended and let go of all. get() throws what it threw.
  using Ticket = std::shared_future<void>;
  using Work = std::function<void()>;

  FileQueue() = default;
  FileQueue(const FileQueue&) = delete;
  FileQueue& operator=(const FileQueue&) = delete;
  /// Ends when all requests have; drops those that have not begun where an exception is on its way.
  ~FileQueue();

  /// Returns at once.
  Ticket ask(Work work);
  /// Returns when the request has ended, at once where the ticket is of none; throws what it threw.
  /// The time counts as waited for files.
  void wait(const Ticket& ticket);
  /// Returns the ticket of what was asked for last, and so of all until now; at first of none.
  [[nodiscard]] Ticket last() const;
  /// Returns when nothing is under way or to come. Throws nothing: tickets do.
  void finish() noexcept;
  /// Drops what has not begun, now and later, and waits for what has: the run ends, by an error or
  /// a signal. Tickets of what is dropped throw Error(stopped_early).
  void cancel() noexcept;

  /// Adds to what requests, or others in their place, have read and written.
  void count_read(index_t bytes);
  void count_written(index_t bytes);
  /// Returns what was counted since the last call, with the seconds spent in wait().
  [[nodiscard]] FileTraffic take_traffic();

 private:
  struct FileRequest {
    Work work;
    std::promise<void> done;
  };
  void serve() noexcept;
  void fail(const std::exception_ptr& error) noexcept;
  void finish(std::unique_lock<std::mutex>& lock) noexcept;

  int exceptions_ = std::uncaught_exceptions();  ///< on their way when it was made
  mutable std::mutex mutex_;                     ///< of all that follows
  std::condition_variable wake_, idle_;
  std::deque<FileRequest> requests_;  ///< that have not begun
  Ticket last_;
  std::exception_ptr error_;  ///< the first, of which later requests are told
  FileTraffic traffic_;
  bool busy_ = false, ends_ = false;
  std::thread thread_;
};

}  // namespace tessera::io
