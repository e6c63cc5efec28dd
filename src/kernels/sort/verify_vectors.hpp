#pragma once
// Vectors of the instruction set that a file is compiled for, and the hash of words in them;
// private to the files of the checks. All of it has internal linkage: other files must not find it.

#include <utility>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "kernels/sort/verify_kernels.hpp"

#ifndef TESSERA_ISA
#define TESSERA_ISA baseline
#endif

namespace tessera::sort::TESSERA_ISA {
namespace {

#if defined(__AVX512F__)
constexpr index_t vector_bytes = 64;
#elif defined(__AVX2__)
constexpr index_t vector_bytes = 32;
#else
constexpr index_t vector_bytes = 16;
#endif

template <class B>
struct VectorOf {
  typedef B Type __attribute__((vector_size(vector_bytes)));
};
template <class B>
using Vector = typename VectorOf<B>::Type;
using Vector64 = Vector<std::uint64_t>;

template <class B>
constexpr index_t lanes = vector_bytes / static_cast<index_t>(sizeof(B));

/// (a mod 2^32) * (b mod 2^32)
[[gnu::always_inline]] inline Vector64 product(const Vector64& a, const Vector64& b) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vector64>(
      _mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__)
  return reinterpret_cast<Vector64>(
      _mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#elif defined(__SSE2__)
  return reinterpret_cast<Vector64>(
      _mm_mul_epu32(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#else
  return (a & 0xffffffff) * (b & 0xffffffff);
#endif
}
[[gnu::always_inline]] inline std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  return (a & 0xffffffff) * (b & 0xffffffff);
}

/// KeyMap::to_bits, of a key or a vector of them.
template <class B, class Keys>
[[gnu::always_inline]] inline Keys bits_of(const Keys& raw, const KeyMap<B>& map) {
  const Keys negative = Keys{} - (raw >> (8 * static_cast<int>(sizeof(B)) - 1));
  const Keys bits = (raw ^ map.flip ^ (negative & map.spread)) - map.offset;
  if (map.mirrored == 0) return bits;
  return bits <= map.top ? map.top - bits : bits;
}

/// The sum of the keys' hashes: the product of the halves of a mixed word, that is of the key's
/// halves folded, multiplied and folded again.
template <class B>
class Hash;
template <>
class Hash<std::uint64_t> {
 public:
  explicit Hash(const Salt& salt) : flip_(salt.flip), factor_(salt.factor) {}
  template <class Keys>
  [[gnu::always_inline]] Keys operator()(const Keys& raw) const {
    const Keys mixed = (raw ^ (raw >> 32) ^ flip_) * factor_;
    const Keys high = mixed >> 32;
    return product(mixed ^ high, high);
  }
  [[gnu::always_inline]] void add(std::uint64_t raw) { one_ += (*this)(raw); }
  [[gnu::always_inline]] void add(const Vector64& raw) { many_ += (*this)(raw); }
  /// Of the lanes whose bits are set.
  [[gnu::always_inline]] void add(const Vector64& raw, const Vector64& lanes) {
    many_ += (*this)(raw)&lanes;
  }
  [[nodiscard]] std::uint64_t sum() const {
    std::uint64_t sum = one_;
    for (index_t i = 0; i < lanes<std::uint64_t>; ++i) sum += many_[i];
    return sum;
  }

 private:
  std::uint64_t flip_, factor_, one_ = 0;
  Vector64 many_{};
};

}  // namespace
}  // namespace tessera::sort::TESSERA_ISA
