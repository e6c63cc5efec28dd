#pragma once
// A loser tree, the tournament of k runs that stores the losers (Knuth 1998, 5.4.1): log2 k
// comparisons per item.

#include "kernels/sort/runs.hpp"
#include "machine/list.hpp"

namespace tessera::inline v1::sort {

template <class Item>
class LoserTree {
 public:
  explicit LoserTree(std::span<const Run<Item>> runs) {
    leaves_ = 1;
    while (leaves_ < runs.size()) leaves_ *= 2;
    heads_.resize(leaves_);
    for (std::size_t r = 0; r < runs.size(); ++r)
      heads_[r] = {runs[r].data, runs[r].data + runs[r].n};
    losers_.resize(leaves_);
    winner_ = play(1);
  }

  /// Pops the next `count` items in order; among equal items those of earlier runs first.
  void pop(Item* to, index_t count) {
    for (index_t i = 0; i < count; ++i) {
      to[i] = *heads_[winner_].at++;
      std::size_t best = winner_;
      for (std::size_t node = (winner_ + leaves_) / 2; node >= 1; node /= 2) {
        if (before(losers_[node], best)) std::swap(losers_[node], best);
      }
      winner_ = best;
    }
  }

 private:
  struct Head {
    const Item* at = nullptr;
    const Item* end = nullptr;
  };

  [[nodiscard]] bool before(std::size_t a, std::size_t b) const {
    const Head& x = heads_[a];
    const Head& y = heads_[b];
    if (x.at == x.end || y.at == y.end) return x.at != x.end;
    return *x.at < *y.at || (!(*y.at < *x.at) && a < b);
  }

  std::size_t play(std::size_t node) {
    if (node >= leaves_) return node - leaves_;
    const std::size_t left = play(2 * node), right = play(2 * node + 1);
    const bool left_wins = before(left, right) || !before(right, left);
    losers_[node] = left_wins ? right : left;
    return left_wins ? left : right;
  }

  std::size_t leaves_ = 1;
  machine::List<Head> heads_;
  machine::List<std::size_t> losers_;
  std::size_t winner_ = 0;
};

}  // namespace tessera::inline v1::sort
