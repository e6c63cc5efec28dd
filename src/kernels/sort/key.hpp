#pragma once
// Keys as unsigned bits: every key type is mapped to u32 or u64 by an order-preserving bijection,
// the bits are sorted and mapped back.
//
// The order is the total order of the mapped bits:
// - integers  as numbers;
// - floats    -inf < ... < -0 < +0 < ... < +inf < NaN, with NaNs of positive sign before those of
//             negative sign, each by payload.
//
// As the map is a bijection, every NaN keeps its bits.
// Descending order reverses the numbers; NaN stays last.

#include <bit>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <type_traits>

#include "base/half.hpp"
#include "base/index.hpp"
#include "base/instrument.hpp"

namespace tessera::inline v1::sort {

/// Returns the number of bits needed to write x.
[[nodiscard]] constexpr int bit_length(std::uint64_t x) { return 64 - std::countl_zero(x); }

enum class Order { ascending, descending };
[[nodiscard]] constexpr bool is_descending(Order order) {
  switch (order) {
    case Order::ascending:
      break;
    case Order::descending:
      return true;
  }
  return false;
}

/// A key's bits with its original position. Sorted by (key, index), so that every sort of pairs
/// with ascending indices is stable.
struct Pair {
  std::uint64_t key;
  std::uint64_t index;

  friend constexpr bool operator<(const Pair& a, const Pair& b) {
    return (a.key < b.key) |
           ((a.key == b.key) & (a.index < b.index));  // branch-free: the outcome is random
  }
  friend constexpr bool operator==(const Pair&, const Pair&) = default;
};

/// The unsigned type with the width of a key type.
template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class Item>
using KeyBits = std::conditional_t<std::is_same_v<Plain<Item>, Pair>, std::uint64_t, Plain<Item>>;

[[nodiscard]] constexpr std::uint32_t key_of(std::uint32_t item) { return item; }
[[nodiscard]] constexpr std::uint64_t key_of(std::uint64_t item) { return item; }
[[nodiscard]] constexpr std::uint64_t key_of(const Pair& item) { return item.key; }

/// The map of one key type and order with run-time parameters: one instantiation per width serves
/// all types.
///   bits = (raw ^ flip ^ (raw < 0 ? spread : 0)) - offset
///   mirrored: bits <= top becomes top - bits
template <class B>
struct KeyMap {
  B spread = 0;  ///< further bits to flip in negative floats, whose magnitude increases downwards
  B flip = 0;    ///< the sign bit of signed types
  B offset = 0;  ///< moves negative NaNs, below -inf, to the end
  B top = 0;     ///< the last number's bits
  B mirrored = 0;

  [[nodiscard]] TESSERA_HD constexpr bool identity() const {
    return (spread | flip | offset | mirrored) == 0;
  }
  [[nodiscard]] TESSERA_HD constexpr B to_bits(B raw) const {
    const B bits = static_cast<B>((raw ^ flip ^ (sign(raw) & spread)) - offset);
    return mirror(bits);
  }
  [[nodiscard]] TESSERA_HD constexpr B to_raw(B bits) const {
    const B shifted = static_cast<B>(mirror(bits) + offset);
    return shifted ^ flip ^ (static_cast<B>(~sign(shifted)) & spread);
  }

 private:
  TESSERA_HD static constexpr B sign(B raw) {
    return static_cast<B>(B{0} - (raw >> (std::numeric_limits<B>::digits - 1)));
  }
  [[nodiscard]] TESSERA_HD constexpr B mirror(B bits) const {
    return mirrored != 0 && bits <= top ? static_cast<B>(top - bits) : bits;
  }
};

template <class T>
[[nodiscard]] constexpr KeyMap<Bits<T>> key_map(Order order) {
  using B = Bits<T>;
  constexpr B sign = B{1} << (std::numeric_limits<B>::digits - 1);
  KeyMap<B> map;
  map.top = static_cast<B>(~B{0});
  if constexpr (!std::is_unsigned_v<T>) map.flip = sign;
  if constexpr (std::is_floating_point_v<T>) {
    map.spread = static_cast<B>(~sign);
    map.offset = static_cast<B>(~std::bit_cast<B>(-std::numeric_limits<T>::infinity()));
    map.top = map.to_bits(std::bit_cast<B>(std::numeric_limits<T>::infinity()));
  }
  map.mirrored = is_descending(order) ? 1 : 0;
  return map;
}

/// The callback for keys first[0:n] of the result that are final and still cached; any thread may
/// call it.
using Done = std::function<void(const void* first, index_t n)>;

/// A problem: data[0:n] is to be sorted by the mapped bits; scratch[0:n] may be overwritten.
template <class Item>
struct Block {
  Item* data = nullptr;
  Item* scratch = nullptr;
  index_t n = 0;
  KeyMap<KeyBits<Item>> map{};  ///< identity for pairs, whose keys are bits already
  index_t device_memory = 0;    ///< device memory that a kernel may use, in bytes; 0: what is free
  const Done* done = nullptr;   ///< may be called for none or some of the keys
};

/// Keys of less than 32 bits. They are compared, and sorted in copies, as numbers of 32 bits.
template <class T>
concept SmallKey = std::same_as<T, std::int8_t> || std::same_as<T, std::int16_t> ||
    std::same_as<T, std::uint8_t> || std::same_as<T, std::uint16_t> || std::same_as<T, Half>;

template <class T>
struct ComparedType {
  using type = T;
};
template <SmallKey T>
struct ComparedType<T> {
  using type = std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>;
};
template <>
struct ComparedType<Half> {
  using type = float;
};
/// The type in which keys of type T are compared.
template <class T>
using ComparedAs = typename ComparedType<T>::type;

[[nodiscard]] constexpr auto widened(auto key) {
  return static_cast<ComparedAs<decltype(key)>>(key);
}
/// Returns the key of that value; a half keeps the bits of NaN, which conversions make quiet.
template <class T>
[[nodiscard]] constexpr T narrowed(ComparedAs<T> key) {
  if constexpr (std::same_as<T, Half>) {
    if (key != key) {
      const auto word = std::bit_cast<std::uint32_t>(key);
      Half half{0.0F};
      half.bits = static_cast<std::uint16_t>((word >> 16 & 0x8000U) | (word >> 13 & 0x7fffU));
      return half;
    }
  }
  return static_cast<T>(key);
}

/// Integers under other names than std::int8_t .. std::uint64_t: char, long long.
template <class T>
concept OtherKey = std::integral<T> && !std::same_as<T, bool> && sizeof(T) <= 8 && !SmallKey<T> &&
                   !std::same_as<T, std::int32_t> && !std::same_as<T, std::int64_t> &&
                   !std::same_as<T, std::uint32_t> && !std::same_as<T, std::uint64_t>;
template <class Signed, class Unsigned, class T>
using LikeSigned = std::conditional_t<std::is_signed_v<T>, Signed, Unsigned>;
/// The integer of the same size and sign as which such keys are sorted.
template <OtherKey T>
using SortedAs = std::conditional_t<
    sizeof(T) == 8, LikeSigned<std::int64_t, std::uint64_t, T>,
    std::conditional_t<
        sizeof(T) == 4, LikeSigned<std::int32_t, std::uint32_t, T>,
        std::conditional_t<sizeof(T) == 2, LikeSigned<std::int16_t, std::uint16_t, T>,
                           LikeSigned<std::int8_t, std::uint8_t, T>>>>;

}  // namespace tessera::inline v1::sort
