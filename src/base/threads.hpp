#pragma once
// A parallel loop on system threads for blocking work (opening and reading files), independent of
// the OpenMP team.

#include <algorithm>
#include <atomic>
#include <future>
#include <vector>

#include "base/index.hpp"

namespace tessera::inline v1 {

/// Calls f(i, thread) once for each i in [0, n) on at most `threads` threads; the caller is thread
/// 0. Rethrows an exception of f after all threads have ended.
template <class F>
void for_each_on_threads(int threads, index_t n, const F& f) {
  std::atomic<index_t> next = 0;
  const auto work = [&](int thread) {
    for (index_t i = next++; i < n; i = next++) f(i, thread);
  };
  std::vector<std::future<void>> others;
  for (int t = 1; t < std::min<index_t>(threads, n); ++t)
    others.push_back(std::async(std::launch::async, work, t));
  work(0);
  for (std::future<void>& other : others) other.get();
}

}  // namespace tessera::inline v1
