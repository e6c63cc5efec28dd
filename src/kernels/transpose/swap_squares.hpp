#pragma once
// Swaps of squares across the diagonal. Only for files compiled per instruction set, as moves.hpp.

#include "kernels/transpose/squares.hpp"

namespace tessera::inline v1::transpose {
namespace {

/// Swaps square by square: a stage of whole lines holds the upper one while the lower one is stored
/// in its place, so every line is read once and written soon after. On the diagonal each pair is
/// swapped once. (m is passed by value: byte stores could alias an object visible elsewhere.)
template <int Bytes, Prefetches What>
void swap_squares(const Mirrored m) {
  constexpr index_t side = line_bytes / Bytes;
  // Prefetch distance in squares.
  constexpr index_t ahead = What == Prefetches::both_far ? 4 : What == Prefetches::both ? 3 : 2;
  constexpr int keep_near = What == Prefetches::both_far ? 2 : 3;
  alignas(line_bytes) std::byte stage[side * line_bytes];
  const bool diagonal = m.upper == m.lower;
  for (index_t i = 0; i < m.rows; i += side) {
    for (index_t j = diagonal ? i : 0; j < m.cols; j += side) {
      std::byte* const upper = m.upper + i * m.stride + j * Bytes;
      std::byte* const lower = m.lower + j * m.stride + i * Bytes;
      line_square<Bytes, Put::stage>(upper, m.stride, stage, line_bytes);
      if (upper != lower) line_square<Bytes, Put::target>(lower, m.stride, upper, m.stride);
      for (index_t r = 0; r < side; ++r) {
        for (index_t k = 0; k < line_bytes; k += vector_bytes)
          store<block_count>(lower + r * m.stride + k, stage_vector(stage + r * line_bytes + k));
        if (What == Prefetches::both || What == Prefetches::both_far)
          __builtin_prefetch(upper + r * m.stride + ahead * line_bytes, 0, keep_near);
        if (What != Prefetches::nothing)
          __builtin_prefetch(lower + (ahead * side + r) * m.stride, 0, keep_near);
      }
    }
  }
}

template <int Bytes>
void swap_mirrored(const Mirrored& m) {
  switch (m.prefetches) {
    case Prefetches::nothing:
      return swap_squares<Bytes, Prefetches::nothing>(m);
    case Prefetches::lower:
      return swap_squares<Bytes, Prefetches::lower>(m);
    case Prefetches::both:
      return swap_squares<Bytes, Prefetches::both>(m);
    case Prefetches::both_far:
      return swap_squares<Bytes, Prefetches::both_far>(m);
  }
}

}  // namespace
}  // namespace tessera::inline v1::transpose
