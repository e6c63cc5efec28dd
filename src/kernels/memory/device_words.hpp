#pragma once
// The data and expected results of the device probes: the same functions on the device and on the
// host, whose checks compute results independently.

#include <cstdint>
#include <vector>

#include "base/hash.hpp"
#include "base/index.hpp"

namespace tessera::inline v1::memory {

using DeviceWord = std::uint32_t;

/// Returns word i of all data.
[[nodiscard]] TESSERA_HD constexpr DeviceWord word_at(index_t i) {
  return static_cast<DeviceWord>(mix64(static_cast<std::uint64_t>(i)) >> 32);
}
inline constexpr DeviceWord untouched = 0xa5a5a5a5U;  ///< bytes of 0xa5, as memset leaves them

/// Returns the bin of a word: equal parts of the range of words.
[[nodiscard]] TESSERA_HD constexpr index_t bin_of(DeviceWord word, index_t bins) {
  return static_cast<index_t>((std::uint64_t{word} * static_cast<std::uint64_t>(bins)) >> 32);
}

/// Returns `words` words, of which every `stride`-th, from the first on, is the place of another:
/// one cycle in random order (Sattolo 1986); the others are 0. At least one word.
[[nodiscard]] std::vector<DeviceWord> cycle_of(index_t words, index_t stride);

/// The map x -> factor x + summand, modulo 2^32, whose n-th power has a closed form.
struct Affine {
  DeviceWord factor = 1, summand = 0;
  [[nodiscard]] TESSERA_HD constexpr DeviceWord operator()(DeviceWord x) const {
    return factor * x + summand;
  }
};
/// Returns the step of a branch.
[[nodiscard]] TESSERA_HD constexpr Affine step_of(int branch) {
  const auto number = static_cast<DeviceWord>(branch);
  return {1664525U + 8U * number, 1013904223U + 2U * number};
}
/// Returns the step applied n times, by repeated squaring.
[[nodiscard]] constexpr Affine power(Affine step, index_t n) {
  Affine result;
  for (; n > 0; n /= 2) {
    if (n % 2 == 1) result = {step.factor * result.factor, step(result.summand)};
    step = {step.factor * step.factor, step(step.summand)};
  }
  return result;
}

/// The iteration x = factor x + summand in eight chains, as the fma probes compute it, with the
/// same bits.
template <class T>
struct Chains {
  static constexpr int count = 8;
  [[nodiscard]] TESSERA_HD static constexpr T start(DeviceWord word, int chain) {
    return static_cast<T>(word % 1024U + static_cast<unsigned>(chain)) / T{1024};
  }
  static constexpr T factor = T(0.75), summand = T(0.125);
};

/// Returns the weight of the exponential probes' iteration x -> weight exp(-x), which damps
/// rounding errors.
[[nodiscard]] TESSERA_HD constexpr double weight_of(DeviceWord word) {
  return 0.5 + static_cast<double>(word % 4096U) / 8192.0;
}

// Fills data on the host, with all threads.

void fill_words(DeviceWord* to, index_t n);
/// Sets words[i] = step^rounds (words[i]) with the step of branch 0.
void walk_words(DeviceWord* words, index_t n, index_t rounds);
/// Returns how many of to[0:n] are not word_at(i) where i is offset + j stride for a j in [0,
/// count), or not untouched elsewhere.
[[nodiscard]] index_t wrong_copies(const DeviceWord* to, index_t n, index_t offset, index_t stride,
                                   index_t count);
/// Returns how many of got[0:n] are not word_at(i) + times.
[[nodiscard]] index_t wrong_increments(const DeviceWord* got, index_t n, index_t times);
/// Returns how many of got[0:n] are not word_at(i) + word_at(n + i).
[[nodiscard]] index_t wrong_sums(const DeviceWord* got, index_t n);
/// Returns how many of got[0:n] are not word_at(n - 1 - i).
[[nodiscard]] index_t wrong_reversals(const DeviceWord* got, index_t n);

/// What a kernel does with a matrix, by tiles of 32 x 32.
enum class Moves { nothing, inside_tiles, tiles, all };
/// Returns how many elements of to[0:edge, 0:edge] are not those of a matrix of word_at(0) ... by
/// rows whose elements were transposed inside their tiles, by whole tiles, or both. Precondition:
/// edge is a multiple of 32.
[[nodiscard]] index_t wrong_moves(const DeviceWord* to, index_t edge, Moves moves);
[[nodiscard]] DeviceWord sum_of_words(
    index_t n);  ///< of word_at(0) ... word_at(n - 1), modulo 2^32
[[nodiscard]] DeviceWord sum(const DeviceWord* words, index_t n);
/// Returns how many of counts[0:bins] differ from the histogram of the first n words.
[[nodiscard]] index_t wrong_counts(const DeviceWord* counts, index_t bins, index_t n);
/// Returns how many of out[0:n] are not step^rounds (word_at(i)), with the step of branch i % ways
/// within each warp.
[[nodiscard]] index_t wrong_powers(const DeviceWord* out, index_t n, index_t ways, index_t rounds);
/// Returns the sum of a thread of `lane` from shared memory, 16 words per round
/// (cuda_shared_stride).
[[nodiscard]] DeviceWord shared_sum(index_t lane, index_t stride, index_t rounds);
/// Returns how many of got[0:n] are not the sum of their lane.
[[nodiscard]] index_t wrong_lane_sums(const DeviceWord* got, index_t n, index_t stride,
                                      index_t rounds);
/// Returns out[i] of the fma probes.
template <class T>
[[nodiscard]] T fma_result(index_t i, index_t rounds);
/// Returns out[i] of the exponential probes, in double precision.
[[nodiscard]] double exp_result(index_t i, index_t rounds);
/// Returns out[i] of the probes of inverse square roots, x -> weight / sqrt(x), likewise.
[[nodiscard]] double rsqrt_result(index_t i, index_t rounds);

}  // namespace tessera::inline v1::memory
