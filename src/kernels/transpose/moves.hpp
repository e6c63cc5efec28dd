#pragma once
// How bytes come into vectors and leave them: the moves that a trace of the leaf sees. For files
// compiled per instruction set only, as all of kernels/simd/.

#include "kernels/simd/shuffle.hpp"
#include "kernels/simd/transpose.hpp"

// A file that traces what the leaf touches defines these before.
#ifndef TESSERA_LOADED
#define TESSERA_LOADED(from, bytes)
#define TESSERA_STORED(to, bytes)
#endif

namespace tessera::transpose {
namespace {

using simd::block_bytes;
using simd::block_count;
using simd::Shift;
using simd::vector_bytes;
using simd::words_in_block;

/// Bytes without a type: what is loaded and stored, in as many blocks of 16.
template <int Blocks>
using Wide = simd::Vector<long long, Blocks * block_bytes>;

template <int Blocks>
TESSERA_INLINE Wide<Blocks> load(const std::byte* from) {
  TESSERA_LOADED(from, Blocks * block_bytes);
  return simd::load<Wide<Blocks>>(from);
}
template <int Blocks>
TESSERA_INLINE void store(std::byte* to, Wide<Blocks> v) {
  TESSERA_STORED(to, sizeof v);
  simd::store(to, v);
}

/// Block k of v.
template <class V>
TESSERA_INLINE void store_block(std::byte* to, const V& v, int k) {
  TESSERA_STORED(to, block_bytes);
  __builtin_memcpy(to, reinterpret_cast<const std::byte*>(&v) + k * block_bytes, block_bytes);
}

template <class V>
TESSERA_INLINE void stream(std::byte* to, V v) {
  TESSERA_STORED(to, sizeof v);
  simd::stream(to, v);
}

/// One record.
template <int Bytes>
TESSERA_INLINE void copy_record(std::byte* to, const std::byte* from) {
  TESSERA_LOADED(from, Bytes);
  TESSERA_STORED(to, Bytes);
  __builtin_memcpy(to, from, Bytes);
}

/// A vector of a stage, which no trace sees.
TESSERA_INLINE Wide<block_count> stage_vector(const std::byte* from) {
  return simd::load<Wide<block_count>>(from);
}

/// x, of which the compiler knows nothing: else it keeps the multiples of a stride that a loop
/// uses, sixteen for each matrix, in memory, and every access of the loop waits for two. For
/// ordinary stores in the cache; where memory decides it costs more than it gains.
template <class Integer>
TESSERA_INLINE Integer unknown(Integer x) {
  asm("" : "+r"(x));
  return x;
}

/// The blocks at from, from + step, ...: one vector.
template <int Blocks>
TESSERA_INLINE Wide<Blocks> gather_blocks(const std::byte* from, std::ptrdiff_t step) {
  if constexpr (Blocks == 1)
    return load<1>(from);
  else
    return simd::join(gather_blocks<Blocks / 2>(from, step),
                      gather_blocks<Blocks / 2>(from + Blocks / 2 * step, step));
}

}  // namespace
}  // namespace tessera::transpose
