#pragma once
// The vector operations as functions on arrays, one table per instruction set: operations.cpp is
// compiled for each, the test compares the tables with plain loops.

#include <cstdint>

#include "base/bfloat16.hpp"
#include "base/half.hpp"
#include "base/index.hpp"

namespace tessera::simd_test {

/// Operations on numbers of type T. Arrays hold one vector unless stated otherwise.
template <class T>
struct Numbers {
  index_t lanes;
  void (*load_first)(const T* from, index_t n, T* all);
  void (*store_between)(T* to, const T* all, index_t first, index_t last);
  void (*stream)(T* to, const T* all);
  void (*broadcast)(T x, T* all);
  void (*fma)(const T* a, const T* b, const T* c, T* all);
  void (*mul_add)(const T* a, const T* b, const T* c, T* all);
  void (*neg_mul_add)(const T* a, const T* b, const T* c, T* all);
};

/// Operations on lanes of any content.
template <class T>
struct Lanes {
  index_t lanes;
  void (*interleave)(const T* a, const T* b, T* low, T* high);
  void (*evens_and_odds)(const T* a, const T* b, T* evens, T* odds);
  void (*exchange)(const T* v, T* by_one, T* by_all);  ///< lane i from i ^ 1; from the mirrored one
  void (*shift)(const T* a, const T* b, T* by_one, T* by_all_but_one);
  void (*shift_bytes)(const T* a, const T* b, index_t bytes, T* shifted);
  void (*transpose_square)(T* square);                 ///< lanes x lanes
  void (*interleave_rows)(const T* rows, T* columns);  ///< 4 x lanes to lanes x 4
  void (*smaller_and_larger)(const T* a, const T* b, T* smaller, T* larger);
};

/// Operations on Half or BFloat16.
template <class S>
struct Halves {
  index_t lanes;
  void (*widen)(const S* from, float* to);
  void (*narrow)(const float* from, S* to);
  void (*load_first)(const S* from, index_t n, float* to);
  void (*store_between)(S* to, const float* all, index_t first, index_t last);
  float (*widen_one)(S x);
  S (*narrow_one)(float x);
};

/// Operations on 64-bit words.
struct Words {
  index_t lanes;
  void (*mul_low_halves)(const std::uint64_t* a, const std::uint64_t* b, std::uint64_t* all);
  unsigned (*less_bits)(const std::uint64_t* a, const std::uint64_t* b);
  unsigned (*equal_bits)(const std::uint64_t* a, const std::uint64_t* b);
  bool (*any)(const std::uint64_t* v);
  std::uint64_t (*sum)(const std::uint64_t* v);
  std::uint64_t (*least)(const std::uint64_t* v);
  void (*load_bytes)(const std::byte* from, index_t n, std::uint64_t* all);
};

struct Operations {
  Numbers<float> f32;
  Numbers<double> f64;
  Lanes<std::uint8_t> u8;
  Lanes<std::uint16_t> u16;
  Lanes<std::uint32_t> u32;
  Lanes<std::uint64_t> u64;
  Lanes<double> lanes_f64;
  Halves<Half> halves;
  Halves<BFloat16> bfloats;
  Words words;
};

}  // namespace tessera::simd_test

namespace tessera::baseline {
extern const simd_test::Operations simd_operations;
}
namespace tessera::bits256 {
extern const simd_test::Operations simd_operations;
}
namespace tessera::bits512 {
extern const simd_test::Operations simd_operations;
}
