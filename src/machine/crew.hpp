#pragma once
// The threads of a region between its loops. Tasks of OpenMP are for recursion: in GCC's runtime
// every one of them takes microseconds, and more the more threads wait for one (32 threads of
// Emerald Rapids, GCC 12: 2048 empty tasks 5.8 ms, in pieces of a crew 0.15). Threads that are
// late, because their processor has other work, are not waited for.

#include <atomic>
#include <utility>

#include "base/index.hpp"

namespace tessera::machine {

/// Thread 0 of a region has work(thread) done by all threads at once, again and again; the others
/// serve(), until somebody makes tasks, which are taken at the end of the region.
class Crew {
 public:
  /// The crew that this thread belongs to; none outside of a region, and on threads at its end.
  [[nodiscard]] static Crew* of_this_thread() { return mine_; }
  /// Belongs to `crew`, as that thread of it, while it lives.
  class Member {
   public:
    explicit Member(Crew* crew) : before_(std::exchange(mine_, crew)) {}
    ~Member() { mine_ = before_; }
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

   private:
    Crew* before_;
  };

  /// Of a region so many regions deep.
  explicit Crew(int level) : level_(level) {}
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  /// Whether run() can be called by `thread` of a region so deep: by the first one of the crew's,
  /// while nothing else runs and the others serve.
  [[nodiscard]] bool is_free(int thread, int level) const {
    return thread == 0 && level == level_ && !runs_ && is_open();
  }
  [[nodiscard]] bool is_open() const {
    return (calls_.load(std::memory_order_acquire) & closed) == 0;
  }

  /// work(0) here and work(thread) on whichever threads come before it returns. Returns when these
  /// are done. It must not throw.
  template <class Work>
  void run(const Work& work) {
    run({[](const void* self, int thread) { (*static_cast<const Work*>(self))(thread); }, &work});
  }
  /// Until close().
  void serve(int thread);
  /// By any thread; those that have work finish it.
  void close();

 private:
  struct Loop {
    void (*call)(const void* self, int thread);
    const void* self;
  };
  void run(const Loop& loop);
  /// Until there is another number of calls.
  void wait_for_call(unsigned seen) const;

  static constexpr unsigned closed = 1;  // calls are counted by twos
  static inline thread_local Crew* mine_ = nullptr;

  int level_;
  std::atomic<unsigned> calls_{0};
  std::atomic<const Loop*> loop_{nullptr};
  std::atomic<int> inside_{0};      // threads that look at loop_
  std::atomic<bool> runs_ = false;  // the first thread says so
};

}  // namespace tessera::machine
