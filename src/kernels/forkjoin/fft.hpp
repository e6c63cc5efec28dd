#pragma once
// The fast Fourier transform (Cooley and Tukey 1965), recursive and out of place: even and odd
// points are forked, then a parallel loop of butterflies: work n lg n, span lg^2 n. The number of
// points is rounded up to a power of two. A template for plain and traced elements.

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "base/random.hpp"
#include "kernels/forkjoin/problem.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::forkjoin {

template <class T>
class Fft final : public Problem {
 public:
  Fft(index_t n, index_t threshold)
      : n_(n == 0 ? 0 : static_cast<index_t>(std::bit_ceil(static_cast<std::uint64_t>(n)))),
        threshold_(threshold),
        in_re_(n_),
        in_im_(n_),
        re_(n_),
        im_(n_),
        cos_(n_ / 2),
        sin_(n_ / 2) {
    for (index_t i = 0; i < n_; ++i) {
      in_re_[i] = random_symmetric<double>(1, 1, i);
      in_im_[i] = random_symmetric<double>(1, 2, i);
    }
    for (index_t i = 0; i < n_ / 2; ++i) {
      cos_[i] = std::cos(angle(i));
      sin_[i] = std::sin(angle(i));
    }
    Fft::prepare();
  }

  void prepare() override {
    for (index_t i = 0; i < n_; ++i) re_[i] = im_[i] = T(std::nan(""));
  }
  void run() override {
    if (n_ > 0) transform({0, 1, 0, n_});
  }

  /// Checks some points against their definition, and the energy of all (Parseval).
  [[nodiscard]] index_t mistakes() const override {
    constexpr index_t samples = 16;
    const auto size = static_cast<double>(n_);
    const double tolerance = 1e-13 * size;
    index_t wrong = 0;
    for (index_t s = 0; s < std::min(samples, n_); ++s) {
      const index_t k = (s * 7919) % n_;
      double re = 0, im = 0;
      for (index_t i = 0; i < n_; ++i) {
        const double a = angle(i * k % n_), x = value(in_re_, i), y = value(in_im_, i);
        re += x * std::cos(a) - y * std::sin(a);
        im += x * std::sin(a) + y * std::cos(a);
      }
      wrong += !(std::hypot(value(re_, k) - re, value(im_, k) - im) <= tolerance) ? 1 : 0;
    }
    double before = 0, after = 0;
    for (index_t i = 0; i < n_; ++i) {
      before += std::pow(value(in_re_, i), 2) + std::pow(value(in_im_, i), 2);
      after += std::pow(value(re_, i), 2) + std::pow(value(im_, i), 2);
    }
    return wrong + (!(std::abs(after - size * before) <= tolerance * size) ? 1 : 0);
  }

 private:
  /// The points first, first + stride, ... of the input, transformed to out[to:to+n].
  struct Part {
    index_t first, stride, to, n;
  };

  [[nodiscard]] static double value(const machine::Buffer<T>& x, index_t i) {
    return static_cast<double>(x[i]);
  }
  [[nodiscard]] double angle(index_t i) const {
    return -2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n_);
  }

  void transform(const Part& part) {
    if (part.n == 1) {
      re_[part.to] = in_re_[part.first];
      im_[part.to] = in_im_[part.first];
      return;
    }
    const index_t half = part.n / 2;
    const Part even{part.first, 2 * part.stride, part.to, half};
    const Part odd{part.first + part.stride, 2 * part.stride, part.to + half, half};
    if (part.n <= threshold_) {
      transform(even);
      transform(odd);
      return butterflies(part, 0, half);
    }
    machine::fork_join([&] { transform(even); }, [&] { transform(odd); });
    machine::parallel_for(0, half, threshold_,
                          [&](index_t begin, index_t end) { butterflies(part, begin, end); });
  }

  void butterflies(const Part& part, index_t begin, index_t end) {
    const index_t half = part.n / 2;
    for (index_t k = begin; k < end; ++k) {
      const index_t low = part.to + k, high = low + half;
      const T c = cos_[k * part.stride], s = sin_[k * part.stride];
      const T x = re_[high], y = im_[high], u = re_[low], v = im_[low];
      const T odd_re = x * c - y * s, odd_im = x * s + y * c;
      re_[low] = u + odd_re;
      im_[low] = v + odd_im;
      re_[high] = u - odd_re;
      im_[high] = v - odd_im;
    }
  }

  index_t n_, threshold_;
  machine::Buffer<T> in_re_, in_im_, re_, im_, cos_, sin_;
};

}  // namespace tessera::inline v1::forkjoin
