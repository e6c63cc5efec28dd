// Blocks of one line of b by 16 bytes of a: E = 16 / bytes rows of b at a time. Lane k of vector r holds 16
// bytes of row k * E + r of the block; log2(E) rounds of interleaving inside the lanes turn that into rows of
// b, and every vector leaves as a whole (part of a) line. The same code serves 1, 2 and 4 lanes and all
// record sizes.

#include "kernels/transpose/leaf.hpp"

#include "kernels/transpose/lanes.hpp"

namespace tessera::transpose::TESSERA_ISA {
namespace {

constexpr index_t line_vectors = line_bytes / vector_bytes;

template <class Word>
void interleave_rounds(Wide* rows) {
  constexpr int count = lane_bytes / static_cast<int>(sizeof(Word));
  for (int round = 1; round < count; round *= 2) {
    Wide next[count];
    for (int k = 0; k < count / 2; ++k) {
      const auto x = (Vector<Word>)rows[k];
      const auto y = (Vector<Word>)rows[k + count / 2];
      next[2 * k] = (Wide)interleave<Word, 0>(x, y);
      next[2 * k + 1] = (Wide)interleave<Word, 1>(x, y);
    }
    for (int k = 0; k < count; ++k) rows[k] = next[k];
  }
}

template <Store Kind>
void put(std::byte* to, Wide v) {
  if constexpr (Kind == Store::streaming) {
    stream_vector(to, v);
  } else {
    store_vector(to, v);
  }
}

/// b[0:E, 0:line] = transpose(a[0:line, 0:E]).
template <class Word, Store Kind>
[[gnu::always_inline]] inline void block(const std::byte* a, index_t a_stride, std::byte* b,
                                         index_t b_stride) {
  constexpr int count = lane_bytes / static_cast<int>(sizeof(Word));
  for (index_t part = 0; part < line_vectors; ++part) {
    const std::byte* const top = a + part * lane_count * count * a_stride;
    Wide rows[count];
#pragma GCC unroll 16
    for (int r = 0; r < count; ++r) rows[r] = gather_lanes(top + r * a_stride, count * a_stride);
    interleave_rounds<Word>(rows);
#pragma GCC unroll 16
    for (int r = 0; r < count; ++r) put<Kind>(b + r * b_stride + part * vector_bytes, rows[r]);
  }
}

/// Records of 16 bytes: a vector is a gather of lanes.
template <Store Kind>
[[gnu::always_inline]] inline void block16(const std::byte* a, index_t a_stride, std::byte* b) {
  for (index_t part = 0; part < line_vectors; ++part) {
    put<Kind>(b + part * vector_bytes, gather_lanes(a + part * lane_count * a_stride, a_stride));
  }
}

template <int Bytes>
void edge(const Leaf& leaf, index_t top, index_t left, index_t rows, index_t cols) {
  for (index_t j = left; j < left + cols; ++j) {
    for (index_t i = top; i < top + rows; ++i) {
      __builtin_memcpy(leaf.b + j * leaf.b_stride + i * Bytes, leaf.a + i * leaf.a_stride + j * Bytes, Bytes);
    }
  }
}

template <int Bytes>
struct WordOf;
template <>
struct WordOf<1> {
  using type = std::uint8_t;
};
template <>
struct WordOf<2> {
  using type = std::uint16_t;
};
template <>
struct WordOf<4> {
  using type = std::uint32_t;
};
template <>
struct WordOf<8> {
  using type = std::uint64_t;
};

template <int Bytes, Store Kind>
[[gnu::always_inline]] inline void block_of(const std::byte* a, index_t a_stride, std::byte* b,
                                            index_t b_stride) {
  if constexpr (Bytes == 16) {
    block16<Kind>(a, a_stride, b);
  } else {
    block<typename WordOf<Bytes>::type, Kind>(a, a_stride, b, b_stride);
  }
}

/// Strips one line of a wide from left to right, each from top to bottom: a line of a is read once and whole,
/// the rows of b that a strip writes grow together.
template <int Bytes, Store Kind>
void leaf_of(const Leaf& leaf) {
  constexpr index_t down = line_bytes / Bytes;
  constexpr index_t right = lane_bytes / Bytes;
  const index_t rows = leaf.rows / down * down;
  const index_t cols = leaf.cols / right * right;
  for (index_t left = 0; left < cols; left += down) {
    const index_t stop = left + down < cols ? left + down : cols;
    for (index_t i = 0; i < rows; i += down) {
      for (index_t j = left; j < stop; j += right) {
        block_of<Bytes, Kind>(leaf.a + i * leaf.a_stride + j * Bytes, leaf.a_stride,
                              leaf.b + j * leaf.b_stride + i * Bytes, leaf.b_stride);
      }
    }
  }
  edge<Bytes>(leaf, rows, 0, leaf.rows - rows, leaf.cols);
  edge<Bytes>(leaf, 0, cols, rows, leaf.cols - cols);
}

template <int Bytes>
void leaf_stored(const Leaf& leaf) {
  leaf.store == Store::streaming ? leaf_of<Bytes, Store::streaming>(leaf)
                                 : leaf_of<Bytes, Store::cached>(leaf);
}

void leaf_sized(const Leaf& leaf) {
  switch (leaf.bytes) {
    case 1:
      return leaf_stored<1>(leaf);
    case 2:
      return leaf_stored<2>(leaf);
    case 4:
      return leaf_stored<4>(leaf);
    case 8:
      return leaf_stored<8>(leaf);
    default:
      return leaf_stored<16>(leaf);
  }
}

void stream_copy(std::byte* to, const std::byte* from, index_t count) {
  const index_t off = static_cast<index_t>(reinterpret_cast<std::uintptr_t>(to) % line_bytes);
  const index_t lead = off == 0 ? 0 : line_bytes - off;
  const index_t head = lead < count ? lead : count;
  __builtin_memcpy(to, from, static_cast<std::size_t>(head));
  index_t done = head;
  for (; done + line_bytes <= count; done += line_bytes) {
    for (index_t k = 0; k < line_bytes; k += vector_bytes)
      stream_vector(to + done + k, load_vector(from + done + k));
  }
  __builtin_memcpy(to + done, from + done, static_cast<std::size_t>(count - done));
}

void fence() { fence_streams(); }

}  // namespace

extern const LeafSet leaf_set;
const LeafSet leaf_set{leaf_sized, stream_copy, fence};

}  // namespace tessera::transpose::TESSERA_ISA
