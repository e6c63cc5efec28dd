#pragma once
// Parallel loops on the threads of a region, without tasks. OpenMP tasks are for recursion: in
// GCC's runtime each costs microseconds, and more with the number of waiting threads (32 threads of
// Emerald Rapids, GCC 12: 2048 empty tasks 5.8 ms, in pieces of a crew 0.15). A loop does not wait
// for threads that arrive late because their processor is busy.

#include <atomic>
#include <utility>

#include "base/index.hpp"

namespace tessera::inline v1::machine {

/// Lets thread 0 of a region execute work(thread) on all its threads, any number of times; the
/// others serve() until close(), which precedes the first task, and take tasks at the end of the
/// region.
class Crew {
 public:
  /// Returns the crew of this thread; nullptr outside of a region, and on threads at its end.
  [[nodiscard]] static Crew* of_this_thread() { return mine_; }
  /// Scope guard: makes this thread a member of `crew`.
  class Member {
   public:
    explicit Member(Crew* crew) : before_(std::exchange(mine_, crew)) {}
    ~Member() { mine_ = before_; }
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

   private:
    Crew* before_;
  };

  /// level: nesting level of the region.
  explicit Crew(int level) : level_(level) {}
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  /// Returns whether `thread` of a region of nesting `level` can call run(): it is the crew's first
  /// thread, no loop is running, and the others serve.
  [[nodiscard]] bool is_free(int thread, int level) const {
    return thread == 0 && level == level_ && !runs_ && is_open();
  }
  [[nodiscard]] bool is_open() const {
    return (calls_.load(std::memory_order_acquire) & closed) == 0;
  }

  /// Runs work(0) on this thread and work(thread) on every thread that arrives before it returns;
  /// returns when all of these are done. work must not throw.
  template <class Work>
  void run(const Work& work) {
    run({[](const void* self, int thread) { (*static_cast<const Work*>(self))(thread); }, &work});
  }
  /// Executes loops until close().
  void serve(int thread);
  /// Ends serve() on all threads, after their current loop. Thread-safe.
  void close();

 private:
  struct Loop {
    void (*call)(const void* self, int thread);
    const void* self;
  };
  void run(const Loop& loop);
  /// Waits until the number of calls differs from `seen`.
  void wait_for_call(unsigned seen) const;

  static constexpr unsigned closed = 1;  // flag in bit 0; calls are counted in steps of 2
  static inline thread_local Crew* mine_ = nullptr;

  int level_;
  std::atomic<unsigned> calls_{0};
  std::atomic<const Loop*> loop_{nullptr};
  std::atomic<int> inside_{0};      // threads that may access loop_
  std::atomic<bool> runs_ = false;  // written by the first thread only
};

}  // namespace tessera::inline v1::machine
