#pragma once
// A tile on its way through shared memory in vectors of 16 bytes: asynchronous copies in, transposed in
// registers, streaming stores out.

#include "kernels/transpose/cuda_device.cuh"
#include "kernels/transpose/swizzle.hpp"

namespace tessera::transpose {

using Byte = unsigned char;

/// The part of a tile that lies inside the matrix, where it begins in a and in b.
struct TilePart {
  const Byte* a;
  index_t a_stride;
  Byte* b;
  index_t b_stride;
  int rows, cols;  ///< of a; at most the tile's edge
};

__device__ __forceinline__ unsigned shared_address(const void* at) {
  return static_cast<unsigned>(__cvta_generic_to_shared(at));
}
/// `valid` of 16 bytes, or 4 or 8 bytes, to shared memory.
__device__ __forceinline__ void copy_async_16(unsigned to, const void* from, int valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid) : "memory");
}
template <int bytes>
__device__ __forceinline__ void copy_async(unsigned to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(bytes) : "memory");
}
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// All but the last `ahead` groups that were committed have arrived, for this thread.
template <int ahead>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(ahead) : "memory");
}

/// Words of 1, 2, 4, 8 or 16 bytes.
template <int bytes>
struct WordOf;
template <>
struct WordOf<1> {
  using Type = unsigned char;
};
template <>
struct WordOf<2> {
  using Type = unsigned short;
};
template <>
struct WordOf<4> {
  using Type = unsigned;
};
template <>
struct WordOf<8> {
  using Type = uint2;
};
template <>
struct WordOf<16> {
  using Type = uint4;
};
template <int bytes>
using Word = typename WordOf<bytes>::Type;

/// Rows of a into the tile; what lies outside a is left as it was.
template <class Tile>
__device__ __forceinline__ void load_vectors(Byte* tile, const TilePart& part) {
  constexpr int rows_at_once = Tile::threads / Tile::slots;
  const int slot = static_cast<int>(threadIdx.x) % Tile::slots,
            first = static_cast<int>(threadIdx.x) / Tile::slots;
  const int valid = min(part.cols * Tile::bytes - 16 * slot, 16);
  if (valid <= 0) return;
  const Byte* from = part.a + first * part.a_stride + 16 * slot;
#pragma unroll
  for (int k = 0; k < Tile::edge; k += rows_at_once) {
    if (first + k < part.rows)
      copy_async_16(shared_address(tile + Tile::offset(first + k, 16 * slot)), from, valid);
    from += rows_at_once * part.a_stride;
  }
}

/// The same record by record, where rows of a do not begin on vectors.
template <class Tile>
__device__ __forceinline__ void load_records(Byte* tile, const TilePart& part) {
  using Record = Word<Tile::bytes>;
#pragma unroll 8
  for (int k = 0; k < Tile::edge * Tile::edge; k += Tile::threads) {
    const int number = k + static_cast<int>(threadIdx.x), row = number / Tile::edge,
              col = number % Tile::edge;
    if (row >= part.rows || col >= part.cols) continue;
    Byte* const to = tile + Tile::offset(row, col * Tile::bytes);
    const Byte* const from = part.a + row * part.a_stride + col * Tile::bytes;
    if constexpr (Tile::bytes >= 4)
      copy_async<Tile::bytes>(shared_address(to), from);
    else
      *reinterpret_cast<Record*>(to) = *reinterpret_cast<const Record*>(from);
  }
}

/// The four bytes of x and y that the selector names.
__device__ __forceinline__ unsigned pick(unsigned x, unsigned y, unsigned selector) {
  return __byte_perm(x, y, selector);
}

/// Word r of a patch holds its row r: vector c of the result holds its column c.
__device__ __forceinline__ void turn(const unsigned (&rows)[16], uint4 (&columns)[4]) {  // of bytes
  unsigned part[4][4];                                                                   // (column, rows / 4)
#pragma unroll
  for (int q = 0; q < 4; ++q) {
    const unsigned low01 = pick(rows[4 * q], rows[4 * q + 1], 0x5140),
                   low23 = pick(rows[4 * q + 2], rows[4 * q + 3], 0x5140),
                   high01 = pick(rows[4 * q], rows[4 * q + 1], 0x7362),
                   high23 = pick(rows[4 * q + 2], rows[4 * q + 3], 0x7362);
    part[0][q] = pick(low01, low23, 0x5410);
    part[1][q] = pick(low01, low23, 0x7632);
    part[2][q] = pick(high01, high23, 0x5410);
    part[3][q] = pick(high01, high23, 0x7632);
  }
#pragma unroll
  for (int c = 0; c < 4; ++c) columns[c] = {part[c][0], part[c][1], part[c][2], part[c][3]};
}
__device__ __forceinline__ void turn(const unsigned (&rows)[8], uint4 (&columns)[2]) {  // of 2 bytes
  columns[0] = {pick(rows[0], rows[1], 0x5410), pick(rows[2], rows[3], 0x5410),
                pick(rows[4], rows[5], 0x5410), pick(rows[6], rows[7], 0x5410)};
  columns[1] = {pick(rows[0], rows[1], 0x7632), pick(rows[2], rows[3], 0x7632),
                pick(rows[4], rows[5], 0x7632), pick(rows[6], rows[7], 0x7632)};
}
__device__ __forceinline__ void turn(const unsigned (&rows)[4], uint4 (&columns)[1]) {
  columns[0] = {rows[0], rows[1], rows[2], rows[3]};
}
__device__ __forceinline__ void turn(const uint2 (&rows)[2], uint4 (&columns)[1]) {
  columns[0] = {rows[0].x, rows[0].y, rows[1].x, rows[1].y};
}
__device__ __forceinline__ void turn(const uint4 (&rows)[1], uint4 (&columns)[1]) { columns[0] = rows[0]; }

/// Record `index`, known when compiled, of a vector.
template <int bytes>
__device__ __forceinline__ Word<bytes> record_of(const uint4& v, int index) {
  const unsigned words[4] = {v.x, v.y, v.z, v.w};
  if constexpr (bytes == 16)
    return v;
  else if constexpr (bytes == 8)
    return uint2{words[2 * index], words[2 * index + 1]};
  else
    return static_cast<Word<bytes>>(words[index * bytes / 4] >> (8 * (index * bytes % 4)));
}

/// The first `count` records of a vector to b.
template <int bytes>
__device__ __forceinline__ void store_vector(Byte* to, const uint4& v, int count, Store store) {
  if (count >= 16 / bytes) {
    if (store == Store::streaming)
      __stcs(reinterpret_cast<uint4*>(to), v);
    else
      *reinterpret_cast<uint4*>(to) = v;
    return;
  }
#pragma unroll
  for (int r = 0; r < 16 / bytes; ++r)
    if (r < count) reinterpret_cast<Word<bytes>*>(to)[r] = record_of<bytes>(v, r);
}

/// Columns of the tile into rows of b.
template <class Tile>
__device__ __forceinline__ void store_vectors(const Byte* tile, const TilePart& part, Store store) {
#pragma unroll 2
  for (int k = 0; k < Tile::patches; k += Tile::threads) {
    const auto patch = Tile::patch(k + static_cast<int>(threadIdx.x));
    const Byte* const from = tile + Tile::offset(patch.group * Tile::vector, patch.word * Tile::word);
    Word<Tile::word> rows[Tile::vector];
#pragma unroll
    for (int r = 0; r < Tile::vector; ++r)
      rows[r] = *reinterpret_cast<const Word<Tile::word>*>(from + r * Tile::segment);
    uint4 columns[Tile::per_word];
    turn(rows, columns);
    const int count = part.rows - patch.group * Tile::vector, col = patch.word * Tile::per_word;
    Byte* to = part.b + col * part.b_stride + patch.group * 16;
#pragma unroll
    for (int c = 0; c < Tile::per_word; ++c) {
      if (col + c < part.cols) store_vector<Tile::bytes>(to, columns[c], count, store);
      to += part.b_stride;
    }
  }
}

/// The same record by record, where rows of b do not begin on vectors.
template <class Tile>
__device__ __forceinline__ void store_records(const Byte* tile, const TilePart& part) {
  using Record = Word<Tile::bytes>;
#pragma unroll 4
  for (int k = 0; k < Tile::columns; k += Tile::threads) {
    const Cell cell = Tile::column(k + static_cast<int>(threadIdx.x));
    const int row = static_cast<int>(cell.i), word = static_cast<int>(cell.j);
    const Byte* const from = tile + Tile::offset(row, word * Tile::word);
    const auto value = *reinterpret_cast<const Word<Tile::word>*>(from);
    Byte* to = part.b + word * Tile::per_word * part.b_stride + row * Tile::bytes;
#pragma unroll
    for (int c = 0; c < Tile::per_word; ++c) {
      Record record;
      if constexpr (Tile::bytes >= 4)
        record = value;
      else
        record = static_cast<Record>(value >> (8 * Tile::bytes * c));
      if (row < part.rows && word * Tile::per_word + c < part.cols) *reinterpret_cast<Record*>(to) = record;
      to += part.b_stride;
    }
  }
}

}  // namespace tessera::transpose
