// Expected results of the device probes, computed on the host.

#include "kernels/memory/device_words.hpp"

#include <cmath>
#include <vector>

namespace tessera::inline v1::memory {

void fill_words(DeviceWord* to, index_t n) {
#pragma omp parallel for
  for (index_t i = 0; i < n; ++i) to[i] = word_at(i);
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
  index_t wrong = 0;
#pragma omp parallel for reduction(+ : wrong)
  for (index_t i = 0; i < n; ++i)
    wrong += out[i] == powers[static_cast<std::size_t>(i % 32 % ways)](word_at(i)) ? 0 : 1;
  return wrong;
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

}  // namespace tessera::inline v1::memory
