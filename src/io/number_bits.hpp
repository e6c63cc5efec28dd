#pragma once
// Formats of numbers in files, bit by bit: any width, byte order and position of fields.

#include <cstddef>
#include <string>

namespace tessera::inline v1::io {

__extension__ typedef unsigned __int128
    Bits128;  // NOLINT: -Wpedantic knows no other way to name it

/// The format of a number. Positions count bits from the lowest one in little-endian order, as in
/// HDF5.
struct NumberBits {
  enum class Order {
    little,
    big,
    vax
  };  ///< vax: 16-bit words, most significant first, each little-endian
  enum class Leading { implied, stored };  ///< the mantissa's highest bit, of weight 1
  bool real = false;                       ///< false: integer
  bool has_sign = false;                   ///< two's complement integer
  Order order = Order::little;
  std::size_t bytes = 0, offset = 0,
              precision = 0;  ///< an integer's bits are [offset, offset + precision)
  std::size_t sign_at = 0, exponent_at = 0, exponent_bits = 0, mantissa_at = 0, mantissa_bits = 0;
  long bias = 0;
  Leading leading = Leading::implied;

  bool operator==(const NumberBits&) const = default;
  /// Return whether decode() reads this format, and whether encode() writes it.
  [[nodiscard]] bool can_be_read() const;
  [[nodiscard]] bool can_be_made() const;
  [[nodiscard]] std::size_t fraction_bits() const {
    return leading == Leading::implied ? mantissa_bits : mantissa_bits - 1;
  }
};

inline constexpr std::size_t most_number_bytes = 32;

/// A decoded number: digits * 2^exponent, plus a remainder of less than one in `digits` if `more`
/// is set. For a NaN, digits is its payload, the first bit of its fraction on top.
struct Number {
  enum class Kind { finite, infinite, nan };
  Kind kind = Kind::finite;
  bool negative = false, more = false;
  Bits128 digits = 0;
  long exponent = 0;
};

/// The loss in a conversion to another format: none, digits (floats are rounded to nearest, ties to
/// even), or the value, which is replaced by the nearest one of the format (an infinity, the
/// largest integer, the whole part of a fraction, zero for NaN).
enum class Loss { none, digits, value };

[[nodiscard]] Number decode(const NumberBits& form, const std::byte* from);
Loss encode(const NumberBits& form, const Number& number, std::byte* to);

/// Returns the fewest decimal digits that distinguish the number from its neighbours.
[[nodiscard]] std::string to_text(const Number& number);

/// Returns the format of this machine's f64.
[[nodiscard]] NumberBits binary64();
/// Convert between a decoded number and a double: exactly, and rounded to nearest.
[[nodiscard]] Number number_of(double value);
[[nodiscard]] double double_of(const Number& number);
/// Returns the value that is left of a double in that format; the double itself where encode() does
/// not write the format.
[[nodiscard]] double rounded_to(const NumberBits& form, double value);

}  // namespace tessera::inline v1::io
