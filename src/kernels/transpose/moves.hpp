#pragma once
// Vector loads and stores of the leaf, which traces intercept. Only for files compiled per
// instruction set, as all of base/simd/.

#include "base/simd/shuffle.hpp"
#include "base/simd/transpose.hpp"

// A file that traces the leaf's accesses defines these macros first.
#ifndef TESSERA_LOADED
#define TESSERA_LOADED(from, bytes)
#define TESSERA_STORED(to, bytes)
#endif

namespace tessera::inline v1::transpose {
namespace {

using simd::block_bytes;
using simd::block_count;
using simd::Shift;
using simd::vector_bytes;
using simd::words_in_block;

/// An untyped vector of `Blocks` blocks of 16 bytes, for loads and stores.
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

/// Stores block k of v.
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

/// Copies one record.
template <int Bytes>
TESSERA_INLINE void copy_record(std::byte* to, const std::byte* from) {
  TESSERA_LOADED(from, Bytes);
  TESSERA_STORED(to, Bytes);
  __builtin_memcpy(to, from, Bytes);
}

/// Loads a vector of a stage, without a trace.
TESSERA_INLINE Wide<block_count> stage_vector(const std::byte* from) {
  return simd::load<Wide<block_count>>(from);
}

/// Returns x, opaque to the compiler, which otherwise keeps the sixteen multiples of each stride
/// that a loop uses in memory, so that every access waits for two loads. For ordinary stores in the
/// cache; in memory-bound loops it costs more than it gains.
template <class Integer>
TESSERA_INLINE Integer unknown(Integer x) {
  asm("" : "+r"(x));
  return x;
}

/// Loads the blocks at from, from + step, ... into one vector.
template <int Blocks>
TESSERA_INLINE Wide<Blocks> gather_blocks(const std::byte* from, std::ptrdiff_t step) {
  if constexpr (Blocks == 1)
    return load<1>(from);
  else
    return simd::join(gather_blocks<Blocks / 2>(from, step),
                      gather_blocks<Blocks / 2>(from + Blocks / 2 * step, step));
}

}  // namespace
}  // namespace tessera::inline v1::transpose
