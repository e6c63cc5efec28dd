#pragma once
// The only interface to OpenMP. Recursion has one shape: leaf? loop : fork_join(one half, the other
// half).
//
// parallel() opens a region. Forks inside become tasks of its team; loops outside of any fork are
// executed by its crew (crew.hpp), without tasks. Nested use is safe: inside a region, also one of
// the caller, no second team is created. Outside any region all code runs sequentially. While a
// Recorder listens (work_span.hpp) no team is created either: one thread runs everything and
// reports the forks to it.

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <span>
#include <utility>
#include <vector>

#include "base/index.hpp"
#include "machine/crew.hpp"
#include "machine/kept.hpp"
#include "machine/work_span.hpp"
#include "machine/workspace.hpp"

namespace tessera::inline v1::machine {

/// Returns the default number of threads of parallel(): OMP_NUM_THREADS, or the cores this process
/// may run on.
[[nodiscard]] inline int default_threads() { return omp_get_max_threads(); }

inline void set_default_threads(int threads) { omp_set_num_threads(threads); }

/// Scope guard: sets another default, for code that queries OpenMP.
class DefaultThreads {
 public:
  explicit DefaultThreads(int threads) : before_(default_threads()) {
    set_default_threads(threads);
  }
  ~DefaultThreads() { set_default_threads(before_); }
  DefaultThreads(const DefaultThreads&) = delete;
  DefaultThreads& operator=(const DefaultThreads&) = delete;

 private:
  int before_;
};

/// Returns the number of threads that may run forked tasks.
[[nodiscard]] inline int team() {
  const Recorder* const listener = recorder();
  return listener == nullptr ? omp_get_num_threads() : listener->team();
}

/// Captures the first exception of several threads, because exceptions must not leave an OpenMP
/// region or task.
class Carried {
 public:
  template <class F>
  void from(F&& f) noexcept {
    try {
      f();
    } catch (...) {
      if (!taken_.test_and_set()) exception_ = std::current_exception();
    }
  }
  /// Rethrows the captured exception; call it after all threads are done.
  void rethrow() const {
    if (exception_) std::rethrow_exception(exception_);
  }

 private:
  std::atomic_flag taken_;
  std::exception_ptr exception_;
};

namespace detail {

/// Runs f() on the first thread of a region; the others serve its crew.
template <class F>
void run_as_crew(Crew& crew, const F& f) {
  const Crew::Member member(&crew);
  if (omp_get_thread_num() == 0) {
    f();
    crew.close();
  } else {
    crew.serve(omp_get_thread_num());
  }
}

}  // namespace detail

/// Runs f() once, on this thread, with a team of `threads`; thread-local state therefore persists
/// between calls. Here and below, one of the exceptions thrown by any thread is rethrown.
template <class F>
void parallel(int threads, F&& f) {
  if (Recorder* const listener = recorder(); listener != nullptr) {
    const Recorder::Team team_of(*listener, threads);
    f();
    return;
  }
  if (omp_in_parallel() != 0 || threads <= 1) {
    f();
    return;
  }
  Carried carried;
  Crew crew(omp_get_level() + 1);
  Workspace* const workspace = Workspace::of_this_thread();
#pragma omp parallel num_threads(threads) default(shared)
  {
    const Workspace::Scope allocates_from(workspace);
    detail::run_as_crew(crew, [&] { carried.from(f); });
    if (workspace != nullptr) {
#pragma omp barrier  // executes the last tasks, which allocate as well
    }
  }
  carried.rethrow();
}

namespace detail {

/// Out of line to keep the code around a fork small.
template <class Left, class Right>
[[gnu::cold, gnu::noinline]] void fork_recorded(Recorder& listener, Left& left, Right& right) {
  auto first = [&] { left(); };
  auto second = [&] { right(); };
  const auto side = []<class F>(F& f) {
    return Recorder::Side{[](void* self) { (*static_cast<F*>(self))(); }, &f};
  };
  listener.fork(side(first), side(second));
}

/// Ends the crew's loops before tasks are created, so that its idle threads take the tasks.
inline void call_for_tasks() {
  if (Crew* const crew = Crew::of_this_thread(); crew != nullptr && crew->is_open()) crew->close();
}
/// Returns the crew of this thread's region if it can run a loop now, otherwise nullptr. A nested
/// region of the caller has other threads.
[[nodiscard]] inline Crew* free_crew() {
  Crew* const crew = recorder() == nullptr ? Crew::of_this_thread() : nullptr;
  return crew != nullptr && crew->is_free(omp_get_thread_num(), omp_get_level()) ? crew : nullptr;
}

}  // namespace detail

/// Runs left() and right(), possibly in parallel; returns when both are done. This thread runs
/// left(), and another one may take right(): let left() be the longer one if they differ, because a
/// thread that waits for right() can run its own tasks only. The side run by this thread is a task,
/// too, so that a taskwait inside it waits for its own forks only, not for those of enclosing
/// forks.
template <class Left, class Right>
void fork_join(Left&& left, Right&& right) {
  if (Recorder* const listener = recorder(); listener != nullptr) [[unlikely]] {
    detail::fork_recorded(*listener, left, right);
    return;
  }
  if (omp_get_num_threads() == 1) {  // a task costs 0.1 us even with a single thread
    left();
    right();
    return;
  }
  detail::call_for_tasks();
  Carried carried;
#pragma omp task default(shared)
  carried.from(right);
#pragma omp task if (false) default(shared)
  carried.from(left);
#pragma omp taskwait
  carried.rethrow();
}

/// Runs body() and all tasks deferred by leave(); threads that wait for the end execute any of
/// these. With fork_join, a left side taken late would leave half of the work to its thread alone
/// while the other waits.
template <class Body>
void gather(const Body& body) {
  if (recorder() != nullptr || omp_get_num_threads() == 1) return body();
  detail::call_for_tasks();
#pragma omp taskgroup
  body();
}

/// Runs right() now and left() at any time before the enclosing gather() ends. left is copied;
/// neither may throw.
template <class Left, class Right>
void leave(Left left, const Right& right) {
  if (recorder() != nullptr || omp_get_num_threads() == 1) return fork_join(left, right);
#pragma omp task default(shared) firstprivate(left)
  left();
  right();
}

namespace detail {

/// The partition of [begin, end) into pieces of at most `grain` indices and nearly equal length.
class Partition {
 public:
  Partition(index_t begin, index_t end, index_t grain)
      : begin_(begin), length_(end - begin), count_(ceil_div(length_, grain)) {}
  [[nodiscard]] index_t count() const { return count_; }
  [[nodiscard]] index_t first_of(index_t p) const {
    return begin_ + p * (length_ / count_) + std::min(p, length_ % count_);
  }

 private:
  index_t begin_, length_, count_;
};

/// Calls piece(p) for p in [begin, end), by recursive halving.
template <class Piece>
void fork_pieces(index_t begin, index_t end, const Piece& piece) {
  if (end - begin == 1) return piece(begin);
  const index_t middle = begin + (end - begin) / 2;
  fork_join([&] { fork_pieces(begin, middle, piece); }, [&] { fork_pieces(middle, end, piece); });
}

/// The pieces of one thread; next is the first that is not taken.
struct alignas(64) Share {
  std::atomic<index_t> next{0};
  index_t end = 0;
};

/// Calls piece(p) for p in [0, pieces): every thread begins with its share, the same in every call,
/// then steals from the others'.
template <class Piece>
void share_pieces(Crew& crew, index_t pieces, const Piece& piece) {
  const auto count = static_cast<std::size_t>(team());
  Kept<Share> kept;
  std::vector<Share>& shares = kept.all();
  if (shares.size() < count) shares = std::vector<Share>(count);
  const auto first_of = [&](std::size_t share) {
    return pieces * static_cast<index_t>(share) / static_cast<index_t>(count);
  };
  for (std::size_t s = 0; s < count; ++s) {
    shares[s].next.store(first_of(s), std::memory_order_relaxed);
    shares[s].end = first_of(s + 1);
  }
  Carried carried;
  crew.run([&](int thread) {
    for (std::size_t s = 0; s < count; ++s) {
      Share& share = shares[(static_cast<std::size_t>(thread) + s) % count];
      while (share.next.load(std::memory_order_relaxed) < share.end) {
        const index_t p = share.next.fetch_add(1, std::memory_order_relaxed);
        if (p < share.end) carried.from([&] { piece(p); });
      }
    }
  });
  carried.rethrow();
}

}  // namespace detail

/// Calls body(begin', end') for pieces of [begin, end) of at most `grain` indices and nearly equal
/// length, independent of the team. For bodies that fork: the pieces are tasks.
template <class Body>
void fork_for(index_t begin, index_t end, index_t grain, const Body& body) {
  if (end <= begin) return;
  const detail::Partition pieces(begin, end, grain);
  detail::fork_pieces(0, pieces.count(),
                      [&](index_t p) { body(pieces.first_of(p), pieces.first_of(p + 1)); });
}
/// As fork_for, for bodies that rarely or never fork.
template <class Body>
void parallel_for(index_t begin, index_t end, index_t grain, const Body& body) {
  Crew* const crew = end - begin > grain ? detail::free_crew() : nullptr;
  if (crew == nullptr) return fork_for(begin, end, grain, body);
  const detail::Partition pieces(begin, end, grain);
  detail::share_pieces(*crew, pieces.count(),
                       [&](index_t p) { body(pieces.first_of(p), pieces.first_of(p + 1)); });
}

/// Calls body(thread, threads) once on each thread of a new team of exactly `threads`.
template <class Body>
void on_each_thread(int threads, const Body& body) {
  Carried carried;
  Workspace* const workspace = Workspace::of_this_thread();
#pragma omp parallel num_threads(threads) default(shared) if (threads > 1)
  {
    const Workspace::Scope allocates_from(workspace);
    carried.from([&] { body(omp_get_thread_num(), omp_get_num_threads()); });
  }
  carried.rethrow();
}

/// Calls body(part, parts) for every part, with a fixed mapping of parts to threads, so that
/// private caches keep their data between calls. Inside a region, or while a Recorder listens, the
/// parts are forks.
template <class Body>
void parallel_parts(int threads, const Body& body) {
  if (recorder() == nullptr && omp_in_parallel() == 0) {
    on_each_thread(threads, body);
    return;
  }
  parallel(threads, [&] {
    const int parts = team();
    parallel_for(0, parts, 1,
                 [&](index_t begin, index_t) { body(static_cast<int>(begin), parts); });
  });
}

/// Calls body(begin, end) for consecutive, nearly equal parts of [0, count), one per thread: the
/// system places new memory near the thread that writes it first.
template <class Body>
void parallel_ranges(int threads, index_t count, const Body& body) {
  parallel_parts(threads, [&](int part, int parts) {
    const index_t least = count / parts, longer = count % parts;
    const index_t begin = least * part + std::min<index_t>(part, longer);
    const index_t end = begin + least + (part < longer ? 1 : 0);
    if (begin < end) body(begin, end);
  });
}

/// Fills an array by the threads; a small one by the caller.
template <class T>
void parallel_fill(int threads, std::span<T> to, const T& value) {
  constexpr std::size_t small_bytes = std::size_t{1} << 20;
  parallel_ranges(
      to.size_bytes() < small_bytes ? 1 : threads, static_cast<index_t>(to.size()),
      [&](index_t begin, index_t end) { std::fill(to.begin() + begin, to.begin() + end, value); });
}

}  // namespace tessera::inline v1::machine
