#pragma once
// Breadth-first search by levels on a random directed graph with 8 edges from every vertex: the
// edges of a level are examined by a parallel loop, prefix sums pack the vertices found into the
// next level: work E, span D lg n for a depth of D levels, here about lg n. A template for plain
// and traced elements.

#include <atomic>
#include <vector>

#include "base/instrument.hpp"
#include "kernels/forkjoin/scan.hpp"
#include "kernels/forkjoin/variants.hpp"

namespace tessera::inline v1::forkjoin {

/// Sets cell to `to` if it is `from`; returns whether it did, on one thread only.
template <class T>
[[nodiscard]] bool claim(T& cell, Plain<T> from, Plain<T> to) {
  if constexpr (is_traced<T>) {
    if (static_cast<Plain<T>>(cell) != from) return false;
    cell = to;
    return true;
  } else {
    std::atomic_ref<T> shared(cell);
    return shared.load(std::memory_order_relaxed) == from &&
           shared.compare_exchange_strong(from, to, std::memory_order_relaxed);
  }
}

template <class T>
class Bfs final : public Problem {
 public:
  Bfs(index_t n, index_t threshold)
      : n_(n), threshold_(threshold), edges_(bfs_degree * n), depth_(n), level_(n), next_(n) {
    for (index_t e = 0; e < edges_.size(); ++e) edges_[e] = end_of(e);
    Bfs::prepare();
  }

  void prepare() override {
    for (T& depth : depth_) depth = unreached;
  }
  void run() override {
    if (n_ == 0) return;
    depth_[0] = std::uint32_t{0};
    level_[0] = std::uint32_t{0};
    index_t size = 1;
    for (std::uint32_t depth = 1; size > 0; ++depth) {
      size = advance(size, depth);
      std::swap(level_, next_);
    }
  }
  [[nodiscard]] index_t mistakes() const override {
    std::vector<std::uint32_t> wanted(static_cast<std::size_t>(n_), unreached), queue;
    if (n_ > 0) {
      wanted[0] = 0;
      queue.push_back(0);
    }
    for (std::size_t next = 0; next < queue.size(); ++next) {
      for (index_t e = 0; e < bfs_degree; ++e) {
        const std::uint32_t to = end_of(bfs_degree * index_t{queue[next]} + e);
        if (wanted[to] != unreached) continue;
        wanted[to] = wanted[queue[next]] + 1;
        queue.push_back(to);
      }
    }
    index_t wrong = 0;
    for (index_t v = 0; v < n_; ++v)
      wrong += depth_[v] == wanted[static_cast<std::size_t>(v)] ? 0 : 1;
    return wrong;
  }

 private:
  static constexpr std::uint32_t unreached = ~std::uint32_t{0};
  [[nodiscard]] std::uint32_t end_of(index_t edge) const {
    return static_cast<std::uint32_t>(random_bits(1, 0, edge) % static_cast<std::uint64_t>(n_));
  }

  /// Finds the vertices of a depth from those of the level before; returns their number.
  index_t advance(index_t size, std::uint32_t depth) {
    const index_t pieces = ceil_div(size, threshold_);
    const auto first_of = [=](index_t piece) { return size * piece / pieces; };
    machine::Buffer<T> found(bfs_degree * size), ends(pieces);
    machine::fork_for(0, pieces, 1, [&](index_t piece, index_t) {
      const index_t begin = first_of(piece);
      T* to = found.data() + bfs_degree * begin;
      for (index_t i = begin; i < first_of(piece + 1); ++i) to = visit(level_[i], depth, to);
      ends[piece] = static_cast<std::uint32_t>(to - (found.data() + bfs_degree * begin));
    });
    PrefixSums<T>(ends.data(), pieces, threshold_).run();
    machine::fork_for(0, pieces, 1, [&](index_t piece, index_t) {
      index_t to = piece == 0 ? 0 : index_t{static_cast<std::uint32_t>(ends[piece - 1])};
      const index_t end = index_t{static_cast<std::uint32_t>(ends[piece])};
      const T* from = found.data() + bfs_degree * first_of(piece);
      while (to < end) next_[to++] = *from++;
    });
    return index_t{static_cast<std::uint32_t>(ends[pieces - 1])};
  }

  /// Writes the vertices that v reaches first to `to`; returns their end.
  T* visit(std::uint32_t v, std::uint32_t depth, T* to) {
    for (index_t e = 0; e < bfs_degree; ++e) {
      const std::uint32_t end = edges_[bfs_degree * index_t{v} + e];
      if (claim(depth_[end], unreached, depth)) *to++ = end;
    }
    return to;
  }

  index_t n_, threshold_;
  machine::Buffer<T> edges_, depth_, level_, next_;
};

}  // namespace tessera::inline v1::forkjoin
