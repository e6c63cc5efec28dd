#pragma once
// A histogram of 256 values by halves, each half with private counters, which a parallel loop
// adds: work n, span lg n. A template for plain and traced elements.

#include <vector>

#include "base/random.hpp"
#include "kernels/forkjoin/problem.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::forkjoin {

inline constexpr index_t histogram_bins = 256;

template <class T>
class Histogram final : public Problem {
 public:
  Histogram(index_t n, index_t threshold)
      : threshold_(threshold), keys_(n), counts_(histogram_bins) {
    for (index_t i = 0; i < n; ++i) keys_[i] = key(i);
    Histogram::prepare();
  }

  void prepare() override {
    for (T& count : counts_) count = ~std::uint64_t{0};
  }
  void run() override { count(0, keys_.size(), counts_.data()); }
  [[nodiscard]] index_t mistakes() const override {
    std::vector<std::uint64_t> wanted(static_cast<std::size_t>(histogram_bins), 0);
    for (index_t i = 0; i < keys_.size(); ++i) ++wanted[key(i)];
    index_t wrong = 0;
    for (index_t bin = 0; bin < histogram_bins; ++bin)
      wrong += counts_[bin] == wanted[static_cast<std::size_t>(bin)] ? 0 : 1;
    return wrong;
  }

 private:
  [[nodiscard]] static std::uint64_t key(index_t i) {
    return random_bits(1, 0, i) % static_cast<std::uint64_t>(histogram_bins);
  }

  /// Counts keys [begin, end) in counts[0:histogram_bins].
  void count(index_t begin, index_t end, T* counts) {
    if (end - begin <= threshold_) {
      for (index_t bin = 0; bin < histogram_bins; ++bin) counts[bin] = std::uint64_t{0};
      for (index_t i = begin; i < end; ++i) ++counts[static_cast<std::uint64_t>(keys_[i])];
      return;
    }
    const index_t middle = begin + (end - begin) / 2;
    machine::Buffer<T> other(histogram_bins);
    machine::fork_join([&] { count(begin, middle, counts); },
                       [&] { count(middle, end, other.data()); });
    machine::parallel_for(0, histogram_bins, threshold_, [&](index_t first, index_t last) {
      for (index_t bin = first; bin < last; ++bin) counts[bin] += other[bin];
    });
  }

  index_t threshold_;
  machine::Buffer<T> keys_, counts_;
};

}  // namespace tessera::inline v1::forkjoin
