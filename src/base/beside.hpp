#pragma once
// Waiting for several files at once: system threads beside whatever else runs, for what is no
// computing.

#include <algorithm>
#include <atomic>
#include <future>
#include <vector>

#include "base/index.hpp"

namespace tessera {

/// f(i, thread) for i = 0, 1, ..., n - 1, each once, by so many threads, of which this is thread 0.
/// Throws what one of them threw, after all have ended.
template <class F>
void for_each_beside(int threads, index_t n, const F& f) {
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

}  // namespace tessera
