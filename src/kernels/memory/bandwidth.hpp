#pragma once
// Functions shared by copy and triad: first-touch allocation by the using threads, and the best of
// a few runs.

#include <algorithm>

#include "base/timer.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::memory {

/// Calls body(begin, count) on each thread for its part of [0, n); parts are multiples of 8.
template <class Body>
void on_parts(int threads, index_t n, const Body& body) {
  machine::on_each_thread(threads, [&](int thread, int team) {
    const index_t begin = n / 8 * thread / team * 8;
    const index_t end = n / 8 * (thread + 1) / team * 8;
    body(begin, end - begin);
  });
}

/// Returns n doubles, each `value`, first touched by the threads that will use them.
[[nodiscard]] inline machine::Buffer<double> touched(int threads, index_t n, double value) {
  machine::Buffer<double> x(n);
  on_parts(threads, n,
           [&](index_t begin, index_t count) { std::fill_n(x.data() + begin, count, value); });
  return x;
}

/// Returns the bandwidth in bytes per second, from the shortest of a few runs of body on all parts.
template <class Body>
[[nodiscard]] double best_rate(int threads, index_t n, double bytes, const Body& body) {
  constexpr int runs = 6;
  double best = 0;
  for (int run = 0; run < runs; ++run) {
    const Timer timer;
    on_parts(threads, n, body);
    best = std::max(best, bytes / timer.seconds());
  }
  return best;
}

}  // namespace tessera::inline v1::memory
