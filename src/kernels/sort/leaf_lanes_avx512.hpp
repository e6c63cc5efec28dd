#pragma once
// Keys in AVX-512 registers: the map of keys, and lanes as the type that the networks compare. Only
// for leaf_avx512.cpp; everything here has internal linkage.

#include <type_traits>

#include "base/simd/arithmetic.hpp"
#include "base/simd/mask_avx512.hpp"
#include "base/simd/reduce.hpp"
#include "kernels/sort/key.hpp"
#include "kernels/sort/leaf.hpp"

namespace tessera::inline v1::sort::avx512 {
namespace {

/// Keys, or their bits.
template <class B>
using Keys = simd::Vector<B>;
template <class B>
inline constexpr index_t lanes = simd::lanes_of<Keys<B>>;
/// As many lanes, compared as floating-point numbers.
template <class B>
using Numbers = simd::Vector<std::conditional_t<sizeof(B) == 4, float, double>>;

/// Loads from[0:n], at most a vector, with the greatest key in the other lanes.
template <class B>
TESSERA_INLINE Keys<B> load_keys(const B* from, index_t n) {
  return simd::load_or(simd::broadcast<Keys<B>>(static_cast<B>(~B{0})),
                       simd::first_lanes<Keys<B>>(n), from);
}

template <class V>
simd::Element<V> least_key(V v) {
  return simd::reduce(v, [](V a, V b) { return simd::min(a, b); });
}
template <class V>
simd::Element<V> greatest_key(V v) {
  return simd::reduce(v, [](V a, V b) { return simd::max(a, b); });
}

/// KeyMap in registers.
template <class B>
class Map {
  using V = Keys<B>;
  using Mask = simd::Mask<V>;

 public:
  explicit Map(const KeyMap<B>& map)
      : plain_((map.spread | map.flip | map.offset | map.mirrored) == 0),
        mirrored_(map.mirrored != 0 ? simd::first_lanes<V>(lanes<B>) : Mask{0}),
        spread_(simd::broadcast<V>(map.spread)),
        flip_(simd::broadcast<V>(map.flip)),
        offset_(simd::broadcast<V>(map.offset)),
        top_(simd::broadcast<V>(map.top)) {}

  [[nodiscard]] V to_bits(V raw) const {
    if (plain_) return raw;
    return mirror((raw ^ flip_ ^ (signs(raw) & spread_)) - offset_);
  }
  [[nodiscard]] V to_raw(V bits) const {
    if (plain_) return bits;
    const V raw = mirror(bits) + offset_;
    return raw ^ flip_ ^ (~signs(raw) & spread_);
  }

 private:
  /// Returns all bits set in the lanes whose highest bit is set.
  static V signs(V raw) {
    return simd::bits_as<B>(simd::bits_as<std::make_signed_t<B>>(raw) >> (8 * sizeof(B) - 1));
  }
  [[nodiscard]] V mirror(V bits) const {
    return simd::blend(simd::less_equal(mirrored_, bits, top_), bits, top_ - bits);
  }

  bool plain_;
  Mask mirrored_;
  V spread_, flip_, offset_, top_;
};

/// The inverse map where it is linear: raw = (x ^ flip) + add for x = bits - from, on bits of one
/// part.
///
/// There x is compared as a floating-point number: a processor may have two units for
/// floating-point minima but one for integers (Intel's: 0.18 ns per vector of doubles, 0.34 of
/// integers). From the least normal to the greatest finite number, positive numbers are in the
/// order of their bits.
template <class B>
struct Line {
  bool exists = false;
  B from = 0, flip = 0, add = 0;
};
template <class B>
constexpr B least_normal = B{1} << (sizeof(B) == 8 ? 52 : 23);
template <class B>
constexpr B greatest_finite =
    static_cast<B>((sizeof(B) == 8 ? std::uint64_t{0x7ff} << 52 : std::uint64_t{0xff} << 23) - 1);

template <class B>
Line<B> line(const KeyMap<B>& map, Bounds<B> bounds) {
  if (static_cast<B>(bounds.high - bounds.low) > greatest_finite<B> - least_normal<B>) return {};
  Line<B> its{.exists = true, .from = static_cast<B>(bounds.low - least_normal<B>)};
  if (map.identity()) {
    its.add = its.from;
    return its;
  }
  if (map.mirrored != 0 && bounds.high > map.top) return {};
  // All of one sign, without a discontinuity between them.
  const B low =
      static_cast<B>((map.mirrored != 0 ? map.top - bounds.high : bounds.low) + map.offset);
  const B high =
      static_cast<B>((map.mirrored != 0 ? map.top - bounds.low : bounds.high) + map.offset);
  constexpr B sign = B{1} << (8 * sizeof(B) - 1);
  if (low > high || (map.spread != 0 && ((low ^ high) & sign) != 0)) return {};
  const B first = map.to_raw(bounds.low);
  const bool down = bounds.low != bounds.high &&
                    map.to_raw(static_cast<B>(bounds.low + 1)) != static_cast<B>(first + 1);
  its.flip = down ? static_cast<B>(~B{0}) : B{0};
  its.add = static_cast<B>(first - (least_normal<B> ^ its.flip));
  return its;
}

/// Loads and stores of keys through the map. Absent keys come last.
template <class B>
class ByMap {
 public:
  using V = Keys<B>;

  explicit ByMap(const Map<B>& map) : map_(map) {}
  [[nodiscard]] V load(const B* from, simd::Mask<V> valid) const {
    return simd::load_or(simd::broadcast<V>(static_cast<B>(~B{0})), valid, from);
  }
  [[nodiscard]] Keys<B> to_raw(V v) const { return map_.to_raw(v); }

 private:
  const Map<B>& map_;
};
template <class B>
class ByLine {
 public:
  using V = Numbers<B>;

  explicit ByLine(const Line<B>& line)
      : from_(simd::broadcast<Keys<B>>(line.from)),
        flip_(simd::broadcast<Keys<B>>(line.flip)),
        add_(simd::broadcast<Keys<B>>(line.add)) {}
  [[nodiscard]] V load(const B* from, simd::Mask<V> valid) const {
    const auto last = simd::broadcast<Keys<B>>(greatest_finite<B>);
    return reinterpret_cast<V>(simd::blend(valid, last, simd::load_or(last, valid, from) - from_));
  }
  [[nodiscard]] Keys<B> to_raw(V v) const { return (simd::bits_as<B>(v) ^ flip_) + add_; }

 private:
  Keys<B> from_, flip_, add_;
};

}  // namespace
}  // namespace tessera::inline v1::sort::avx512
