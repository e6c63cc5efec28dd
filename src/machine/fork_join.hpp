#pragma once
// The one seam to OpenMP. Recursion has one shape: leaf? loop : fork_join(one half, the other
// half).
//
// parallel() opens a region. Forks inside become tasks of its team; the pieces of a loop that forks
// nowhere around it are shared out by its crew (crew.hpp), without tasks. Nested use is safe:
// inside a region of the caller (ours or not) no second team is made. Outside any region all runs
// in turn. While a Recorder listens (work_span.hpp) no team is made either: one thread runs all and
// tells it the forks.

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <utility>
#include <vector>

#include "base/index.hpp"
#include "machine/crew.hpp"
#include "machine/work_span.hpp"

namespace tessera::machine {

/// Threads a parallel() call uses when it names no number: OMP_NUM_THREADS or the cores this
/// process may run on.
[[nodiscard]] inline int default_threads() { return omp_get_max_threads(); }

inline void set_default_threads(int threads) { omp_set_num_threads(threads); }

/// Another default while it lives: for code that asks OpenMP itself.
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

/// Threads that forked tasks may run on.
[[nodiscard]] inline int team() {
  const Recorder* const listener = recorder();
  return listener == nullptr ? omp_get_num_threads() : listener->team();
}

/// The first exception of several threads, which must not leave their region or task by itself.
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
  /// Once all of them are done.
  void rethrow() const {
    if (exception_) std::rethrow_exception(exception_);
  }

 private:
  std::atomic_flag taken_;
  std::exception_ptr exception_;
};

/// Runs f() once, on this thread, with a team of `threads`: what the thread keeps from one call to
/// the next is there. Exceptions, here and below, come out as they would of serial code, one of
/// them.
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
#pragma omp parallel num_threads(threads) default(shared)
  {
    const Crew::Member member(&crew);
    if (omp_get_thread_num() == 0) {
      carried.from(f);
      crew.close();
    } else {
      crew.serve(omp_get_thread_num());
    }
  }
  carried.rethrow();
}

namespace detail {

/// Apart, so that the code around a fork stays small.
template <class Left, class Right>
[[gnu::cold, gnu::noinline]] void fork_recorded(Recorder& listener, Left& left, Right& right) {
  auto first = [&] { left(); };
  auto second = [&] { right(); };
  const auto side = []<class F>(F& f) {
    return Recorder::Side{[](void* self) { (*static_cast<F*>(self))(); }, &f};
  };
  listener.fork(side(first), side(second));
}

/// Before tasks are made: whoever has no work comes to take them.
inline void call_for_tasks() {
  if (Crew* const crew = Crew::of_this_thread(); crew != nullptr && crew->is_open()) crew->close();
}
/// Of the region of this thread, if it can have a loop done now. One that the caller opened inside
/// of it has other threads.
[[nodiscard]] inline Crew* free_crew() {
  Crew* const crew = recorder() == nullptr ? Crew::of_this_thread() : nullptr;
  return crew != nullptr && crew->is_free(omp_get_thread_num(), omp_get_level()) ? crew : nullptr;
}

}  // namespace detail

/// left() and right() in any order or at once; returns when both are done. Each is a task, also the
/// one that this thread runs itself: a wait inside it is for its own forks alone, and not for the
/// left sides of the forks around it too.
template <class Left, class Right>
void fork_join(Left&& left, Right&& right) {
  if (Recorder* const listener = recorder(); listener != nullptr) [[unlikely]] {
    detail::fork_recorded(*listener, left, right);
    return;
  }
  if (omp_get_num_threads() ==
      1) {  // a task costs a tenth of a microsecond even where nobody could take it
    left();
    right();
    return;
  }
  detail::call_for_tasks();
  Carried carried;
#pragma omp task default(shared)
  carried.from(left);
#pragma omp task if (false) default(shared)
  carried.from(right);
#pragma omp taskwait
  carried.rethrow();
}

/// body() and all that it leaves by `leave`; who waits for the end takes any of that. Of a
/// fork_join whose left side somebody takes late, half of the work is left to that one alone, and
/// the other waits.
template <class Body>
void gather(const Body& body) {
  if (recorder() != nullptr || omp_get_num_threads() == 1) return body();
  detail::call_for_tasks();
#pragma omp taskgroup
  body();
}

/// left() at any time before the gather() around it ends, right() now. left is copied, and neither
/// may throw.
template <class Left, class Right>
void leave(Left left, const Right& right) {
  if (recorder() != nullptr || omp_get_num_threads() == 1) return fork_join(left, right);
#pragma omp task default(shared) firstprivate(left)
  left();
  right();
}

namespace detail {

/// [begin, end) in pieces of at most `grain` indices and about one length.
class Pieces {
 public:
  Pieces(index_t begin, index_t end, index_t grain)
      : begin_(begin), length_(end - begin), count_(ceil_div(length_, grain)) {}
  [[nodiscard]] index_t count() const { return count_; }
  [[nodiscard]] index_t first_of(index_t p) const {
    return begin_ + p * (length_ / count_) + std::min(p, length_ % count_);
  }

 private:
  index_t begin_, length_, count_;
};

/// piece(p) for p in [begin, end), halved recursively.
template <class Piece>
void fork_pieces(index_t begin, index_t end, const Piece& piece) {
  if (end - begin == 1) return piece(begin);
  const index_t middle = begin + (end - begin) / 2;
  fork_join([&] { fork_pieces(begin, middle, piece); }, [&] { fork_pieces(middle, end, piece); });
}

/// Pieces of one thread, and the first that nobody has taken.
struct alignas(64) Share {
  std::atomic<index_t> next{0};
  index_t end = 0;
};

/// piece(p) for p in [0, pieces): every thread begins with its share, the same in every call, and
/// goes on with what is left of the others'.
template <class Piece>
void share_pieces(Crew& crew, index_t pieces, const Piece& piece) {
  std::vector<Share> shares(static_cast<std::size_t>(team()));
  const auto first_of = [&](std::size_t share) {
    return pieces * static_cast<index_t>(share) / static_cast<index_t>(shares.size());
  };
  for (std::size_t s = 0; s < shares.size(); ++s) {
    shares[s].next.store(first_of(s), std::memory_order_relaxed);
    shares[s].end = first_of(s + 1);
  }
  Carried carried;
  crew.run([&](int thread) {
    for (std::size_t s = 0; s < shares.size(); ++s) {
      Share& share = shares[(static_cast<std::size_t>(thread) + s) % shares.size()];
      while (share.next.load(std::memory_order_relaxed) < share.end) {
        const index_t p = share.next.fetch_add(1, std::memory_order_relaxed);
        if (p < share.end) carried.from([&] { piece(p); });
      }
    }
  });
  carried.rethrow();
}

}  // namespace detail

/// body(begin', end') over pieces of [begin, end) of at most `grain` indices and about one length,
/// which are the same for every team. For pieces that fork: as tasks.
template <class Body>
void fork_for(index_t begin, index_t end, index_t grain, const Body& body) {
  if (end <= begin) return;
  const detail::Pieces pieces(begin, end, grain);
  detail::fork_pieces(0, pieces.count(),
                      [&](index_t p) { body(pieces.first_of(p), pieces.first_of(p + 1)); });
}
/// For pieces that do not, or seldom.
template <class Body>
void parallel_for(index_t begin, index_t end, index_t grain, const Body& body) {
  Crew* const crew = end - begin > grain ? detail::free_crew() : nullptr;
  if (crew == nullptr) return fork_for(begin, end, grain, body);
  const detail::Pieces pieces(begin, end, grain);
  detail::share_pieces(*crew, pieces.count(),
                       [&](index_t p) { body(pieces.first_of(p), pieces.first_of(p + 1)); });
}

/// body(thread, threads) once on each thread of a fresh team of exactly `threads`.
template <class Body>
void on_each_thread(int threads, const Body& body) {
  Carried carried;
#pragma omp parallel num_threads(threads) default(shared) if (threads > 1)
  carried.from([&] { body(omp_get_thread_num(), omp_get_num_threads()); });
  carried.rethrow();
}

/// body(part, parts) for every part, one for each thread and the same one every time: what a
/// thread's own cache holds of the data since the last call is there again. Inside a region, or
/// while a Recorder listens, the parts are forks.
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

}  // namespace tessera::machine
