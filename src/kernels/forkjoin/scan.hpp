#pragma once
// Inclusive prefix sums in place, in two passes over a tree of pieces (Blelloch 1990): work n, span
// lg n. Templates for plain and traced elements.

#include "base/instrument.hpp"
#include "base/random.hpp"
#include "kernels/forkjoin/problem.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::forkjoin {

/// Prefix sums of data[0:n] in pieces of at most `grain` elements.
template <class T>
class PrefixSums {
 public:
  PrefixSums(T* data, index_t n, index_t grain)
      : data_(data), n_(n), pieces_(ceil_div(n, grain)), left_(pieces_) {}

  /// Replaces data[i] by data[0] + ... + data[i].
  void run() {
    if (n_ == 0) return;
    up(0, pieces_);
    down(0, pieces_, Plain<T>{0});
  }

 private:
  [[nodiscard]] index_t first_of(index_t piece) const { return n_ * piece / pieces_; }

  /// Returns the sum of pieces [begin, end); keeps that of their first half.
  Plain<T> up(index_t begin, index_t end) {
    if (end - begin == 1) {
      Plain<T> sum = 0;
      for (index_t i = first_of(begin); i < first_of(end); ++i) sum += data_[i];
      return sum;
    }
    const index_t middle = begin + (end - begin) / 2;
    Plain<T> left = 0, right = 0;
    machine::fork_join([&] { left = up(begin, middle); }, [&] { right = up(middle, end); });
    left_[middle] = left;
    return left + right;
  }

  void down(index_t begin, index_t end, Plain<T> before) {
    if (end - begin == 1) {
      for (index_t i = first_of(begin); i < first_of(end); ++i) {
        before += data_[i];
        data_[i] = before;
      }
      return;
    }
    const index_t middle = begin + (end - begin) / 2;
    const Plain<T> left = left_[middle];
    machine::fork_join([=, this] { down(begin, middle, before); },
                       [=, this] { down(middle, end, before + left); });
  }

  T* data_;
  index_t n_, pieces_;
  machine::Buffer<T> left_;  ///< by the middle of a node: the sum of its first half
};

template <class T>
class Scan final : public Problem {
 public:
  Scan(index_t n, index_t threshold) : threshold_(threshold), data_(n) { Scan::prepare(); }

  void prepare() override {
    for (index_t i = 0; i < data_.size(); ++i) data_[i] = random_bits(1, 0, i);
  }
  void run() override { PrefixSums<T>(data_.data(), data_.size(), threshold_).run(); }
  [[nodiscard]] index_t mistakes() const override {
    Plain<T> sum = 0;
    index_t wrong = 0;
    for (index_t i = 0; i < data_.size(); ++i) {
      sum += random_bits(1, 0, i);
      wrong += data_[i] == sum ? 0 : 1;
    }
    return wrong;
  }

 private:
  index_t threshold_;
  machine::Buffer<T> data_;
};

}  // namespace tessera::inline v1::forkjoin
