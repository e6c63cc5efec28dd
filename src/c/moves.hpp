#pragma once
// Elements that relayouts move: numbers, and opaque words.

#include <bit>
#include <cstdint>

#include "c/arguments.hpp"

namespace tessera::inline v1::c {

/// Elements of 16 bytes that are only moved.
struct Word16 {
  std::uint64_t halves[2];
};

/// Returns whether products and relayouts compute with the type.
[[nodiscard]] constexpr bool is_number(int type) {
  return type == TESSERA_F32 || type == TESSERA_F64 || type == TESSERA_C64 || type == TESSERA_C128;
}

/// Throws Error(usage) naming `type` unless relayouts move elements of that size.
inline void expect_word(index_t bytes, const char* where) {
  expect(bytes <= 16 && std::has_single_bit(static_cast<std::uint64_t>(bytes)), "type",
         "has {} bytes: must have 1, 2, 4, 8 or 16 in {}", bytes, where);
}

/// Calls f(Type<T>{}) for the type of numbers, or of opaque words of that size. Precondition:
/// expect_word().
template <class F>
decltype(auto) dispatch_moved(int type, F&& f) {
  if (is_number(type)) return dispatch_number(type, std::forward<F>(f));
  switch (bytes_of(type)) {
    case 1:
      return f(Type<std::uint8_t>{});
    case 2:
      return f(Type<std::uint16_t>{});
    case 4:
      return f(Type<std::uint32_t>{});
    case 8:
      return f(Type<std::uint64_t>{});
    default:
      return f(Type<Word16>{});
  }
}

}  // namespace tessera::inline v1::c
