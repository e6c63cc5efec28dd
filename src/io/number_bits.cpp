#include "io/number_bits.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace tessera::inline v1::io {
namespace {

constexpr std::size_t kept_bits =
    120;  // of a mantissa, which leaves eight of 128 bits for arithmetic

using Bytes = std::array<std::uint8_t, most_number_bytes>;

Bits128 ones(std::size_t count) { return count >= 128 ? ~Bits128{0} : (Bits128{1} << count) - 1; }

Bits128 bits_of(const Bytes& bytes, std::size_t at, std::size_t count) {
  Bits128 bits = 0;
  for (std::size_t i = 0; i < count;) {
    const std::size_t shift = (at + i) % 8, some = std::min(8 - shift, count - i);
    bits |= (bytes[(at + i) / 8] >> shift & ones(some)) << i;
    i += some;
  }
  return bits;
}

void set_bits(Bytes& bytes, std::size_t at, std::size_t count, Bits128 bits) {
  for (std::size_t i = 0; i < count;) {
    const std::size_t shift = (at + i) % 8, some = std::min(8 - shift, count - i);
    const auto part = static_cast<unsigned>(bits >> i & ones(some)) << shift;
    auto& byte = bytes[(at + i) / 8];
    byte = static_cast<std::uint8_t>((byte & ~(static_cast<unsigned>(ones(some)) << shift)) | part);
    i += some;
  }
}

/// Converts between the byte order of the file and little-endian, in either direction.
void reorder(const NumberBits& form, Bytes& bytes) {
  const auto end = bytes.begin() + static_cast<std::ptrdiff_t>(form.bytes);
  if (form.order != NumberBits::Order::little) std::reverse(bytes.begin(), end);
  if (form.order == NumberBits::Order::vax)
    for (std::size_t i = 0; i + 1 < form.bytes; i += 2) std::swap(bytes[i], bytes[i + 1]);
}

std::size_t length_of(Bits128 digits) {
  const auto high = static_cast<std::uint64_t>(digits >> 64),
             low = static_cast<std::uint64_t>(digits);
  return high != 0 ? 64 + static_cast<std::size_t>(std::bit_width(high))
                   : static_cast<std::size_t>(std::bit_width(low));
}

Number decode_integer(const NumberBits& form, const Bytes& bytes) {
  Number number;
  number.digits = bits_of(bytes, form.offset, form.precision);
  number.negative = form.has_sign && (number.digits >> (form.precision - 1) & 1) != 0;
  if (number.negative) number.digits = (~number.digits + 1) & ones(form.precision);
  return number;
}

Number decode_real(const NumberBits& form, const Bytes& bytes) {
  Number number;
  const std::size_t dropped = form.mantissa_bits - std::min(form.mantissa_bits, kept_bits);
  const std::size_t fraction_bits = form.fraction_bits() - dropped;
  const auto exponent = static_cast<long>(bits_of(bytes, form.exponent_at, form.exponent_bits));
  const Bits128 mantissa = bits_of(bytes, form.mantissa_at + dropped, form.mantissa_bits - dropped);
  number.negative = bits_of(bytes, form.sign_at, 1) != 0;
  number.more = bits_of(bytes, form.mantissa_at, dropped) != 0;
  const bool is_vax =
      form.order == NumberBits::Order::vax;  // without infinities, NaNs and subnormals
  if (exponent == static_cast<long>(ones(form.exponent_bits)) && !is_vax) {
    const Bits128 payload = mantissa & ones(fraction_bits);
    number.kind = payload != 0 || number.more ? Number::Kind::nan : Number::Kind::infinite;
    number.digits = fraction_bits == 0 ? 0 : payload << (128 - fraction_bits);
    return number;
  }
  if (exponent == 0 && is_vax) {
    number.kind = number.negative ? Number::Kind::nan : Number::Kind::finite;  // a reserved operand
    return number;
  }
  const bool one = form.leading == NumberBits::Leading::implied && exponent > 0;
  number.digits = one ? mantissa | Bits128{1} << fraction_bits : mantissa;
  number.exponent = std::max(exponent, 1L) - form.bias - static_cast<long>(fraction_bits);
  return number;
}

/// digits * 2^exponent in units of 2^unit, rounded to nearest, ties to even.
struct Rounded {
  Bits128 digits;
  bool exact;
};
Rounded in_units(const Number& number, long unit) {
  const long down = unit - number.exponent;
  if (down <= 0) return {number.digits << -down, !number.more};
  if (down > 128) return {0, number.digits == 0 && !number.more};
  const Bits128 whole = down == 128 ? 0 : number.digits >> down;
  const Bits128 rest = number.digits & ones(static_cast<std::size_t>(down)),
                half = Bits128{1} << (down - 1);
  const bool up = rest > half || (rest == half && (number.more || (whole & 1) != 0));
  return {up ? whole + 1 : whole, rest == 0 && !number.more};
}

Loss encode_real(const NumberBits& form, const Number& number, Bytes& bytes) {
  const auto fraction_bits = static_cast<long>(form.fraction_bits());
  const auto beyond = static_cast<long>(ones(form.exponent_bits));
  const Bits128 one = Bits128{1} << fraction_bits;
  const bool stores_one = form.leading == NumberBits::Leading::stored;
  Loss loss = Loss::none;
  long exponent = beyond;
  Bits128 mantissa = stores_one ? one : 0;
  if (number.kind == Number::Kind::nan) {
    mantissa |= number.digits >> (128 - fraction_bits) | one >> 1;  // quiet NaN
  } else if (number.kind == Number::Kind::finite && number.digits == 0 && !number.more) {
    exponent = 0;
    mantissa = 0;
  } else if (number.kind == Number::Kind::finite) {
    const long lowest = 1 - form.bias - fraction_bits;  // the unit of subnormals
    const long length = static_cast<long>(length_of(number.digits));
    long unit = std::max(number.exponent + length - 1 - fraction_bits, lowest);
    Rounded rounded = in_units(number, unit);
    if (rounded.digits == one << 1) {
      rounded.digits = one;
      ++unit;
    }
    const long normal = unit - lowest + 1;
    loss = normal >= beyond ? Loss::value : rounded.exact ? Loss::none : Loss::digits;
    if (normal < beyond) {
      exponent = (rounded.digits & one) != 0 ? normal : 0;
      mantissa = stores_one ? rounded.digits : rounded.digits & ~one;
    }
  }
  set_bits(bytes, form.sign_at, 1, number.negative ? 1 : 0);
  set_bits(bytes, form.exponent_at, form.exponent_bits, static_cast<Bits128>(exponent));
  set_bits(bytes, form.mantissa_at, form.mantissa_bits, mantissa);
  return loss;
}

Loss encode_integer(const NumberBits& form, const Number& number, Bytes& bytes) {
  const Bits128 largest = ones(form.precision - (form.has_sign ? 1 : 0));
  const Bits128 limit = number.negative ? (form.has_sign ? largest + 1 : 0) : largest;
  Loss loss = Loss::none;
  Bits128 size = 0;
  if (number.kind == Number::Kind::nan) {
    loss = Loss::value;
  } else if (number.kind == Number::Kind::infinite ||
             static_cast<long>(length_of(number.digits)) + number.exponent > 128) {
    loss = number.digits == 0 && number.kind == Number::Kind::finite ? Loss::none : Loss::value;
    size = loss == Loss::none ? 0 : limit;
  } else {
    const long down = -number.exponent;
    size = down >= 128 ? 0 : down > 0 ? number.digits >> down : number.digits << -down;
    const bool whole = down <= 0 || (down < 128 ? size << down : 0) == number.digits;
    if (!whole || number.more || size > limit) loss = Loss::value;
    size = std::min(size, limit);
  }
  set_bits(bytes, form.offset, form.precision, number.negative ? ~size + 1 : size);
  return loss;
}

}  // namespace

bool NumberBits::can_be_read() const {
  if (bytes == 0 || bytes > most_number_bytes) return false;
  const auto inside = [&](std::size_t at, std::size_t count) { return at + count <= 8 * bytes; };
  if (!real)
    return precision >= 1 && precision <= 128 && inside(offset, precision) && order != Order::vax;
  return exponent_bits >= 1 && exponent_bits <= 30 && bias >= 0 && bias < (1L << 31) &&
         (leading == Leading::implied || mantissa_bits >= 1) && inside(sign_at, 1) &&
         inside(exponent_at, exponent_bits) && inside(mantissa_at, mantissa_bits);
}

bool NumberBits::can_be_made() const {
  return can_be_read() && order != Order::vax &&
         (!real || (mantissa_bits <= kept_bits && fraction_bits() >= 1));
}

Number decode(const NumberBits& form, const std::byte* from) {
  Bytes bytes{};
  std::memcpy(bytes.data(), from, form.bytes);
  reorder(form, bytes);
  return form.real ? decode_real(form, bytes) : decode_integer(form, bytes);
}

Loss encode(const NumberBits& form, const Number& number, std::byte* to) {
  Bytes bytes{};
  const Loss loss =
      form.real ? encode_real(form, number, bytes) : encode_integer(form, number, bytes);
  reorder(form, bytes);
  std::memcpy(to, bytes.data(), form.bytes);
  return loss;
}

NumberBits binary64() {
  NumberBits form;
  form.real = true;
  form.order = std::endian::native == std::endian::little ? NumberBits::Order::little
                                                          : NumberBits::Order::big;
  form.bytes = 8;
  form.precision = 64;
  form.sign_at = 63;
  form.exponent_at = form.mantissa_bits = 52;
  form.exponent_bits = 11;
  form.bias = 1023;
  return form;
}

Number number_of(double value) {
  return decode(binary64(), reinterpret_cast<const std::byte*>(&value));
}

double double_of(const Number& number) {
  double value = 0;
  encode(binary64(), number, reinterpret_cast<std::byte*>(&value));
  return value;
}

double rounded_to(const NumberBits& form, double value) {
  if (!form.can_be_made()) return value;
  std::array<std::byte, most_number_bytes> bytes{};
  encode(form, number_of(value), bytes.data());
  return double_of(decode(form, bytes.data()));
}

std::string to_text(const Number& number) {
  if (number.kind == Number::Kind::nan) return "nan";
  if (number.kind == Number::Kind::finite && number.exponent == 0 &&
      !number.more) {  // an exact integer
    std::string digits;
    for (Bits128 rest = number.digits; rest != 0 || digits.empty(); rest /= 10)
      digits += static_cast<char>('0' + static_cast<int>(rest % 10));
    if (number.negative) digits += '-';
    return {digits.rbegin(), digits.rend()};
  }
  double near = 0;
  std::array<std::byte, sizeof near> bytes{};
  const Loss loss = encode(binary64(), number, bytes.data());
  std::memcpy(&near, bytes.data(), sizeof near);
  if (loss == Loss::none) return fmt::format("{}", near);
  const auto wide =
      std::ldexp(static_cast<long double>(number.digits), static_cast<int>(number.exponent));
  return fmt::format("{}", number.negative ? -wide : wide);
}

}  // namespace tessera::inline v1::io
