#pragma once
// Vectors as arrays of numbers, for traced leaf kernels.

#include <cmath>

#include "base/index.hpp"

namespace tessera::inline v1::locality {

/// Vector of n numbers; arithmetic only, no memory accesses.
template <class T, index_t n>
struct Lanes {
  T at[n];

  friend Lanes operator+(Lanes a, const Lanes& b) {
    for (index_t i = 0; i < n; ++i) a.at[i] += b.at[i];
    return a;
  }
  friend Lanes operator-(Lanes a, const Lanes& b) {
    for (index_t i = 0; i < n; ++i) a.at[i] -= b.at[i];
    return a;
  }
  friend Lanes operator*(Lanes a, const Lanes& b) {
    for (index_t i = 0; i < n; ++i) a.at[i] *= b.at[i];
    return a;
  }
};

template <class T, index_t n>
Lanes<T, n> interleaved(const Lanes<T, n>& a, const Lanes<T, n>& b, index_t from) {
  Lanes<T, n> out;
  for (index_t i = 0; i < n; ++i) out.at[i] = (i % 2 == 0 ? a : b).at[from + i / 2];
  return out;
}
template <class T, index_t n>
Lanes<T, n> interleave_low(Lanes<T, n> a, Lanes<T, n> b) {
  return interleaved(a, b, 0);
}
template <class T, index_t n>
Lanes<T, n> interleave_high(Lanes<T, n> a, Lanes<T, n> b) {
  return interleaved(a, b, n / 2);
}

}  // namespace tessera::inline v1::locality
