#pragma once
// Vectors of keys and the hash of words, private to the files of the checks. All of it has internal
// linkage: other files must not link to it.

#include "base/simd/arithmetic.hpp"
#include "base/simd/reduce.hpp"
#include "kernels/sort/verify_kernels.hpp"

namespace tessera::inline v1::sort::TESSERA_ISA {
namespace {

using simd::Vector;
using simd::vector_bytes;
using Vector64 = Vector<std::uint64_t>;

template <class B>
constexpr index_t lanes = vector_bytes / static_cast<index_t>(sizeof(B));

/// Returns KeyMap::to_bits of a key or a vector of keys.
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
    return simd::mul_low_halves(mixed ^ high, high);
  }
  [[gnu::always_inline]] void add(std::uint64_t raw) { one_ += (*this)(raw); }
  [[gnu::always_inline]] void add(const Vector64& raw) { many_ += (*this)(raw); }
  /// Adds the hashes of the lanes whose bits are set.
  [[gnu::always_inline]] void add(const Vector64& raw, const Vector64& lanes) {
    many_ += (*this)(raw)&lanes;
  }
  [[nodiscard]] std::uint64_t sum() const { return one_ + simd::sum(many_); }

 private:
  std::uint64_t flip_, factor_, one_ = 0;
  Vector64 many_{};
};

}  // namespace
}  // namespace tessera::inline v1::sort::TESSERA_ISA
