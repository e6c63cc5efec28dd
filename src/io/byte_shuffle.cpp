// Transposes of the bytes of elements, for the shuffle filter.

#include <array>
#include <cstdint>
#include <cstring>

#include "io/filters.hpp"

namespace tessera::inline v1::io {
namespace {

typedef std::uint8_t Lane __attribute__((vector_size(16)));

Lane load(const std::byte* from) {
  Lane lane;
  std::memcpy(&lane, from, sizeof(lane));
  return lane;
}

void store(const Lane& lane, std::byte* to) { std::memcpy(to, &lane, sizeof(lane)); }

/// Return the bytes of a and b alternately: of their first halves, and of their second.
Lane low_pairs(Lane a, Lane b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
Lane high_pairs(Lane a, Lane b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                 31);
}
/// Return the bytes of a and b at even positions, and at odd ones.
Lane evens(Lane a, Lane b) {
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
}
Lane odds(Lane a, Lane b) {
  return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
}

constexpr std::size_t width = sizeof(Lane);

/// Interleaves 16 elements' planes, n bytes apart: the planes of the lower and upper halves of the
/// elements are paired until elements are whole.
template <std::size_t Bytes>
void join_block(const std::byte* from, std::size_t n, std::byte* to) {
  std::array<Lane, Bytes> lanes;
  for (std::size_t b = 0; b < Bytes; ++b) lanes[b] = load(from + b * n);
  for (std::size_t step = 1; step < Bytes; step *= 2) {
    std::array<Lane, Bytes> next;
    for (std::size_t b = 0; b < Bytes / 2; ++b) {
      next[2 * b] = low_pairs(lanes[b], lanes[b + Bytes / 2]);
      next[2 * b + 1] = high_pairs(lanes[b], lanes[b + Bytes / 2]);
    }
    lanes = next;
  }
  for (std::size_t b = 0; b < Bytes; ++b) store(lanes[b], to + b * width);
}

/// The inverse of join_block.
template <std::size_t Bytes>
void split_block(const std::byte* from, std::size_t n, std::byte* to) {
  std::array<Lane, Bytes> lanes;
  for (std::size_t b = 0; b < Bytes; ++b) lanes[b] = load(from + b * width);
  for (std::size_t step = 1; step < Bytes; step *= 2) {
    std::array<Lane, Bytes> next;
    for (std::size_t b = 0; b < Bytes / 2; ++b) {
      next[b] = evens(lanes[2 * b], lanes[2 * b + 1]);
      next[b + Bytes / 2] = odds(lanes[2 * b], lanes[2 * b + 1]);
    }
    lanes = next;
  }
  for (std::size_t b = 0; b < Bytes; ++b) store(lanes[b], to + b * n);
}

/// Calls block(i) for whole blocks of 16 elements, then one(i, b) for each byte of the others.
template <class Block, class One>
void each_block(std::size_t n, std::size_t bytes, const Block& block, const One& one) {
  std::size_t i = 0;
  if (bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16)
    for (; i + width <= n; i += width) block(i);
  for (std::size_t b = 0; b < bytes; ++b)
    for (std::size_t rest = i; rest < n; ++rest) one(rest, b);
}

}  // namespace

void shuffle(std::span<const std::byte> from, std::size_t bytes, std::byte* to) {
  const std::size_t n = from.size() / bytes;
  const auto block = [&](std::size_t i) {
    const std::byte* const at = from.data() + i * bytes;
    if (bytes == 2) split_block<2>(at, n, to + i);
    if (bytes == 4) split_block<4>(at, n, to + i);
    if (bytes == 8) split_block<8>(at, n, to + i);
    if (bytes == 16) split_block<16>(at, n, to + i);
  };
  each_block(n, bytes, block,
             [&](std::size_t i, std::size_t b) { to[b * n + i] = from[i * bytes + b]; });
  std::memcpy(to + n * bytes, from.data() + n * bytes, from.size() - n * bytes);
}

void unshuffle(std::span<const std::byte> from, std::size_t bytes, std::byte* to) {
  const std::size_t n = from.size() / bytes;
  const auto block = [&](std::size_t i) {
    const std::byte* const at = from.data() + i;
    if (bytes == 2) join_block<2>(at, n, to + i * bytes);
    if (bytes == 4) join_block<4>(at, n, to + i * bytes);
    if (bytes == 8) join_block<8>(at, n, to + i * bytes);
    if (bytes == 16) join_block<16>(at, n, to + i * bytes);
  };
  each_block(n, bytes, block,
             [&](std::size_t i, std::size_t b) { to[i * bytes + b] = from[b * n + i]; });
  std::memcpy(to + n * bytes, from.data() + n * bytes, from.size() - n * bytes);
}

}  // namespace tessera::inline v1::io
