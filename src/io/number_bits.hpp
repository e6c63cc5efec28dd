#pragma once
// Numbers as files hold them, bit by bit: of any width, byte order and position of their parts.

#include <cstddef>
#include <string>

namespace tessera::io {

__extension__ typedef unsigned __int128
    Bits128;  // NOLINT: -Wpedantic knows no other way to name it

/// Where in its bytes a number keeps what. Positions count bits from the lowest of the number in
/// little-endian order, as HDF5 counts them.
struct NumberBits {
  enum class Order {
    little,
    big,
    vax
  };  ///< vax: 16-bit words, the highest first, little-endian each
  enum class Leading { implied, stored };  ///< the mantissa's highest bit, that of the value 1
  bool real = false;                       ///< else an integer
  bool has_sign = false;                   ///< of an integer (two's complement)
  Order order = Order::little;
  std::size_t bytes = 0, offset = 0,
              precision = 0;  ///< an integer's bits are [offset, offset + precision)
  std::size_t sign_at = 0, exponent_at = 0, exponent_bits = 0, mantissa_at = 0, mantissa_bits = 0;
  long bias = 0;
  Leading leading = Leading::implied;

  bool operator==(const NumberBits&) const = default;
  /// Whether decode() reads such numbers, and encode() makes them.
  [[nodiscard]] bool can_be_read() const;
  [[nodiscard]] bool can_be_made() const;
  [[nodiscard]] std::size_t fraction_bits() const {
    return leading == Leading::implied ? mantissa_bits : mantissa_bits - 1;
  }
};

inline constexpr std::size_t most_number_bytes = 32;

/// A number taken apart: digits * 2^exponent, and less than one more in `digits` where `more` is
/// set. Of a NaN the digits are its payload, the first bit of its fraction on top.
struct Number {
  enum class Kind { finite, infinite, nan };
  Kind kind = Kind::finite;
  bool negative = false, more = false;
  Bits128 digits = 0;
  long exponent = 0;
};

/// What a number lost when it was written in another form: nothing, digits (floats are rounded to
/// nearest, ties to even), or its value: the form ends before it, and has the nearest that there is
/// instead (an infinity, the largest integer, the whole part of a fraction, zero for NaN).
enum class Loss { none, digits, value };

[[nodiscard]] Number decode(const NumberBits& form, const std::byte* from);
Loss encode(const NumberBits& form, const Number& number, std::byte* to);

/// As few decimal digits as tell it from its neighbours.
[[nodiscard]] std::string to_text(const Number& number);

/// This machine's f64.
[[nodiscard]] NumberBits binary64();

}  // namespace tessera::io
