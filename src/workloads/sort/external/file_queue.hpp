#pragma once
// Reads and writes beside whatever else is done.

#include <future>
#include <utility>
#include <vector>

namespace tessera::workloads::sort {

/// Does what it is asked for in that order, one after the other, beside the one who asks. Bytes of files: no
/// HDF5 or MPI call is among it, for those libraries are where the asking thread is.
class FileQueue {
 public:
  FileQueue() = default;
  FileQueue(const FileQueue&) = delete;
  FileQueue& operator=(const FileQueue&) = delete;
  ~FileQueue() { finish(); }

  /// get() of the result throws what `work` threw.
  template <class Work>
  std::shared_future<void> ask(Work work) {
    last_ = std::async(std::launch::async, [before = last_, work = std::move(work)]() mutable {
              std::exchange(before, {}).wait();  // held no longer, nor what its work held
              Work(std::move(work))();
            }).share();
    return last_;
  }
  /// Waits for everything.
  void finish() { last_.wait(); }

 private:
  static std::shared_future<void> ready() {
    std::promise<void> nothing;
    nothing.set_value();
    return nothing.get_future().share();
  }
  std::shared_future<void> last_ = ready();
};

/// Writes that somebody waits for together.
class LaterWrites {
 public:
  explicit LaterWrites(FileQueue& queue) : queue_(queue) {}
  template <class Write>
  void add(Write write) {
    writing_.push_back(queue_.ask(std::move(write)));
  }
  /// For those so far: what they hold is free again. Throws what a write threw.
  void wait() {
    for (const auto& one : std::exchange(writing_, {})) one.get();
  }

 private:
  FileQueue& queue_;
  std::vector<std::shared_future<void>> writing_;
};

}  // namespace tessera::workloads::sort
