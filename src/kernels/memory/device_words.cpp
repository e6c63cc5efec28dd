// Expected results of the device probes, computed on the host.

#include "kernels/memory/device_words.hpp"

#include <cmath>
#include <vector>

namespace tessera::inline v1::memory {
namespace {

/// Returns how many of got[0:n] are not right(i).
template <class Right>
index_t count_wrong(const DeviceWord* got, index_t n, const Right& right) {
  index_t wrong = 0;
#pragma omp parallel for reduction(+ : wrong)
  for (index_t i = 0; i < n; ++i) wrong += got[i] == right(i) ? 0 : 1;
  return wrong;
}

}  // namespace

void fill_words(DeviceWord* to, index_t n) {
#pragma omp parallel for
  for (index_t i = 0; i < n; ++i) to[i] = word_at(i);
}

void walk_words(DeviceWord* words, index_t n, index_t rounds) {
  const Affine step = step_of(0);
#pragma omp parallel for
  for (index_t i = 0; i < n; ++i) {
    DeviceWord x = words[i];
    for (index_t round = 0; round < rounds; ++round) x = step(x);
    words[i] = x;
  }
}

index_t wrong_increments(const DeviceWord* got, index_t n, index_t times) {
  return count_wrong(got, n,
                     [=](index_t i) { return word_at(i) + static_cast<DeviceWord>(times); });
}

index_t wrong_sums(const DeviceWord* got, index_t n) {
  return count_wrong(got, n, [=](index_t i) { return word_at(i) + word_at(n + i); });
}

index_t wrong_reversals(const DeviceWord* got, index_t n) {
  return count_wrong(got, n, [=](index_t i) { return word_at(n - 1 - i); });
}

index_t wrong_moves(const DeviceWord* to, index_t edge, Moves moves) {
  constexpr index_t tile = 32;
  const bool tiles = moves == Moves::tiles || moves == Moves::all,
             inside = moves == Moves::inside_tiles || moves == Moves::all;
  return count_wrong(to, edge * edge, [=](index_t k) {
    index_t i0 = k / edge / tile * tile, j0 = k % edge / tile * tile;
    index_t i = k / edge - i0, j = k % edge - j0;
    if (tiles) std::swap(i0, j0);
    if (inside) std::swap(i, j);
    return word_at((i0 + i) * edge + j0 + j);
  });
}

index_t wrong_copies(const DeviceWord* to, index_t n, index_t offset, index_t stride,
                     index_t count) {
  index_t wrong = 0;
#pragma omp parallel for reduction(+ : wrong)
  for (index_t i = 0; i < n; ++i) {
    const index_t behind = i - offset;
    const bool copied = behind >= 0 && behind % stride == 0 && behind / stride < count;
    wrong += to[i] == (copied ? word_at(i) : untouched) ? 0 : 1;
  }
  return wrong;
}

DeviceWord sum_of_words(index_t n) {
  DeviceWord total = 0;
#pragma omp parallel for reduction(+ : total)
  for (index_t i = 0; i < n; ++i) total += word_at(i);
  return total;
}

DeviceWord sum(const DeviceWord* words, index_t n) {
  DeviceWord total = 0;
  for (index_t i = 0; i < n; ++i) total += words[i];
  return total;
}

index_t wrong_counts(const DeviceWord* counts, index_t bins, index_t n) {
  std::vector<DeviceWord> right(static_cast<std::size_t>(bins), 0);
#pragma omp parallel
  {
    std::vector<DeviceWord> mine(right.size(), 0);
#pragma omp for nowait
    for (index_t i = 0; i < n; ++i) ++mine[static_cast<std::size_t>(bin_of(word_at(i), bins))];
#pragma omp critical
    for (std::size_t b = 0; b < mine.size(); ++b) right[b] += mine[b];
  }
  index_t wrong = 0;
  for (index_t b = 0; b < bins; ++b)
    wrong += counts[b] == right[static_cast<std::size_t>(b)] ? 0 : 1;
  return wrong;
}

index_t wrong_powers(const DeviceWord* out, index_t n, index_t ways, index_t rounds) {
  std::vector<Affine> powers;
  for (int branch = 0; branch < static_cast<int>(ways); ++branch)
    powers.push_back(power(step_of(branch), rounds));
  return count_wrong(out, n, [&](index_t i) {
    return powers[static_cast<std::size_t>(i % 32 % ways)](word_at(i));
  });
}

DeviceWord shared_sum(index_t lane, index_t stride, index_t rounds) {
  DeviceWord total = 0;
  for (index_t part = 0; part < 4; ++part) {
    DeviceWord sixteen = 0;
    for (index_t u = 0; u < 16; ++u) sixteen += word_at(lane * stride + 16 * part + u);
    total += sixteen * static_cast<DeviceWord>((rounds + 3 - part) / 4);
  }
  return total;
}

index_t wrong_lane_sums(const DeviceWord* got, index_t n, index_t stride, index_t rounds) {
  constexpr index_t lanes = 32;
  std::vector<DeviceWord> right;
  for (index_t lane = 0; lane < lanes; ++lane) right.push_back(shared_sum(lane, stride, rounds));
  return count_wrong(got, n, [&](index_t i) { return right[static_cast<std::size_t>(i % lanes)]; });
}

std::vector<DeviceWord> cycle_of(index_t words, index_t stride) {
  std::vector<DeviceWord> cycle(static_cast<std::size_t>(std::max<index_t>(1, words)), 0);
  const index_t count = ceil_div(ssize(cycle), stride);
  const auto link = [&](index_t i) -> DeviceWord& {
    return cycle[static_cast<std::size_t>(i * stride)];
  };
  for (index_t i = 0; i < count; ++i) link(i) = narrow<DeviceWord>(i * stride);
  for (index_t i = count - 1; i > 0; --i) std::swap(link(i), link(word_at(i) % i));
  return cycle;
}

template <class T>
T fma_result(index_t i, index_t rounds) {
  T total{0};
  for (int chain = 0; chain < Chains<T>::count; ++chain) {
    T x = Chains<T>::start(word_at(i), chain);
    for (index_t r = 0; r < rounds; ++r) x = std::fma(x, Chains<T>::factor, Chains<T>::summand);
    total += x;
  }
  return total;
}
template float fma_result(index_t, index_t);
template double fma_result(index_t, index_t);

double exp_result(index_t i, index_t rounds) {
  const double weight = weight_of(word_at(i));
  double x = weight;
  for (index_t r = 0; r < rounds; ++r) x = weight * std::exp(-x);
  return x;
}

double rsqrt_result(index_t i, index_t rounds) {
  const double weight = weight_of(word_at(i));
  double x = weight;
  for (index_t r = 0; r < rounds; ++r) x = weight / std::sqrt(x);
  return x;
}

}  // namespace tessera::inline v1::memory
