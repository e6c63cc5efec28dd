#include "io/conversion.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <tuple>
#include <type_traits>

#include "base/half.hpp"
#include "io/type_name.hpp"

namespace tessera::inline v1::io {
namespace {

// Conversions between native numbers.

using Natives = std::tuple<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t,
                           std::uint32_t, std::int64_t, std::uint64_t, Half, float, double>;
constexpr std::size_t native_count = std::tuple_size_v<Natives>;

template <class T>
constexpr bool is_integer = std::is_integral_v<T>;

template <class T>
bool is_finite(T value) {
  if constexpr (std::is_same_v<T, Half>)
    return (value.bits & 0x7c00U) != 0x7c00U;
  else
    return std::isfinite(value);
}

/// Converts an integer to a float; returns whether the result is exact.
template <class To, class From>
bool float_of(From value, To& to) {
  to = static_cast<To>(value);
  if constexpr (std::is_same_v<To, Half>) {
    return is_finite(to) && static_cast<double>(to) == static_cast<double>(value);
  } else {
    if constexpr (std::numeric_limits<From>::digits <= std::numeric_limits<To>::digits) return true;
    constexpr To end =
        static_cast<To>(std::uint64_t{1} << (std::numeric_limits<From>::digits - 1)) * 2;
    return to < end && static_cast<From>(to) == value;
  }
}

/// Converts a float to an integer; returns whether the result is exact.
template <class To, class From>
bool integer_of(From value, To& to) {
  constexpr From end =
      static_cast<From>(std::uint64_t{1} << (std::numeric_limits<To>::digits - 1)) * 2;
  constexpr From low = std::is_signed_v<To> ? -end : 0;
  const bool inside = value >= low && value < end;
  to = inside ? static_cast<To>(value) : To{0};
  return inside && static_cast<From>(to) == value;
}

/// Converts a number; returns whether `to` holds the value, rounded if both are floats.
template <class From, class To>
bool convert_one(From value, To& to) {
  if constexpr (std::is_same_v<From, Half>) {
    return convert_one(static_cast<float>(value), to);
  } else if constexpr (is_integer<From> && is_integer<To>) {
    to = static_cast<To>(value);
    return std::in_range<To>(value);
  } else if constexpr (is_integer<From>) {
    return float_of(value, to);
  } else if constexpr (is_integer<To>) {
    return integer_of(value, to);
  } else {
    to = static_cast<To>(value);
    return is_finite(to) || !is_finite(value);
  }
}

template <class T>
void swap_bytes(T* values, std::size_t n) {
  using Word = std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;
  if constexpr (sizeof(T) > 1) {
    for (std::size_t i = 0; i < n; ++i) {
      auto word = std::bit_cast<Word>(values[i]);
      if constexpr (sizeof(T) == 2) word = __builtin_bswap16(word);
      if constexpr (sizeof(T) == 4) word = __builtin_bswap32(word);
      if constexpr (sizeof(T) == 8) word = __builtin_bswap64(word);
      values[i] = std::bit_cast<T>(word);
    }
  }
}

constexpr std::size_t block = 256;  // numbers converted at once

/// Converts n <= block numbers, each type in its byte order; returns whether all values are held.
using ConvertBlock = bool (*)(const std::byte* from, bool from_swapped, std::byte* to,
                              bool to_swapped, std::size_t n);

template <class From, class To>
bool convert_block(const std::byte* from, bool from_swapped, std::byte* to, bool to_swapped,
                   std::size_t n) {
  std::array<From, block> values;
  std::array<To, block> results;
  std::memcpy(values.data(), from, n * sizeof(From));
  if (from_swapped) swap_bytes(values.data(), n);
  bool held = true;
  for (std::size_t i = 0; i < n; ++i) held &= convert_one(values[i], results[i]);
  if (to_swapped) swap_bytes(results.data(), n);
  std::memcpy(to, results.data(), n * sizeof(To));
  return held;
}

template <std::size_t... Pair>
constexpr auto all_blocks(std::index_sequence<Pair...>) {
  return std::array<ConvertBlock, sizeof...(Pair)>{
      convert_block<std::tuple_element_t<Pair / native_count, Natives>,
                    std::tuple_element_t<Pair % native_count, Natives>>...};
}
constexpr auto blocks = all_blocks(std::make_index_sequence<native_count * native_count>{});

// Types of HDF5.

/// Returns HDF5's types of Natives, then its long double: those for which the library has hard
/// conversion functions.
std::vector<hid_t> native_types() {
  return {H5T_NATIVE_INT8,           H5T_NATIVE_UINT8,  H5T_NATIVE_INT16,  H5T_NATIVE_UINT16,
          H5T_NATIVE_INT32,          H5T_NATIVE_UINT32, H5T_NATIVE_INT64,  H5T_NATIVE_UINT64,
          native_type(Element::f16), H5T_NATIVE_FLOAT,  H5T_NATIVE_DOUBLE, H5T_NATIVE_LDOUBLE};
}

/// Returns the index of the type in Natives, regardless of byte order.
std::optional<std::size_t> native_of(NumberBits form) {
  static const std::vector<hid_t> types = native_types();
  for (std::size_t i = 0; i < native_count; ++i) {
    const auto native = number_bits_of(types[i]);
    if (!native || native->bytes != form.bytes) continue;
    if (form.bytes == 1 || form.order != NumberBits::Order::vax) form.order = native->order;
    if (*native == form) return i;
  }
  return std::nullopt;
}

/// Returns the index in Natives of the unsigned type of that size, for copies of bits.
std::optional<std::size_t> word_of(std::size_t bytes) {
  return bytes == 1   ? std::optional<std::size_t>(1)
         : bytes == 2 ? std::optional<std::size_t>(3)
         : bytes == 4 ? std::optional<std::size_t>(5)
         : bytes == 8 ? std::optional<std::size_t>(7)
                      : std::nullopt;
}

}  // namespace

/// The conversion from one number type to another.
struct ConversionPlan {
  NumberBits from, to;
  ConvertBlock fast = nullptr;
  bool from_swapped = false, to_swapped = false;
  bool only_order = false;  // the same bits in another byte order

  ConversionPlan(const NumberBits& source, const NumberBits& target) : from(source), to(target) {
    constexpr auto own = std::endian::native == std::endian::little ? NumberBits::Order::little
                                                                    : NumberBits::Order::big;
    from_swapped = from.order != own;
    to_swapped = to.order != own;
    NumberBits turned = from;
    turned.order = to.order;
    only_order = turned == to && from.order != NumberBits::Order::vax;
    const auto from_native = only_order ? word_of(from.bytes) : native_of(from);
    const auto to_native = only_order ? from_native : native_of(to);
    if (from_native && to_native) fast = blocks[*from_native * native_count + *to_native];
  }

  /// Converts n <= block numbers; returns the index of the first that `to` does not hold, n if it
  /// holds all. Those become the nearest number that it holds.
  std::size_t convert(const std::byte* source, std::byte* target, std::size_t n) const {
    if (fast != nullptr && fast(source, from_swapped, target, to_swapped, n)) return n;
    if (only_order) {
      for (std::size_t i = 0; i < n; ++i)
        std::reverse_copy(source + i * from.bytes, source + (i + 1) * from.bytes,
                          target + i * to.bytes);
      return n;
    }
    std::size_t first = n;
    for (std::size_t i = 0; i < n; ++i) {
      const Loss loss = encode(to, decode(from, source + i * from.bytes), target + i * to.bytes);
      const bool held = loss == Loss::none || (loss == Loss::digits && from.real);
      if (!held && first == n) first = i;
    }
    return first;
  }
};

namespace {

// Callbacks of the library.

/// Where conversions in this thread report a refusal: the innermost Transfer. HDF5 1.14 passes no
/// property list to the conversions of compound members, so that one cannot tell.
thread_local std::optional<Refusal>* listener = nullptr;

/// Numbers, `step` bytes apart.
template <class Byte>
struct Spaced {
  Byte* first;
  std::size_t step;
};

/// Copies n numbers of `bytes` bytes.
void copy_each(Spaced<const std::byte> from, Spaced<std::byte> to, std::size_t bytes,
               std::size_t n) {
  if (from.step == bytes && to.step == bytes) {
    std::memcpy(to.first, from.first, n * bytes);
    return;
  }
  for (std::size_t i = 0; i < n; ++i)
    std::memcpy(to.first + i * to.step, from.first + i * from.step, bytes);
}

/// Converts in place: targets wider than their sources are written from the last one on.
herr_t convert_all(const ConversionPlan& plan, std::size_t n, std::size_t stride, std::byte* data,
                   std::optional<Refusal>* refusal) {
  const std::size_t from_step = stride != 0 ? stride : plan.from.bytes;
  const std::size_t to_step = stride != 0 ? stride : plan.to.bytes;
  std::array<std::byte, block * most_number_bytes> sources, targets;
  const bool from_last = to_step > from_step;
  for (std::size_t done = 0; done < n;) {
    const std::size_t some = std::min(block, n - done);
    const std::size_t begin = from_last ? n - done - some : done;
    copy_each({data + begin * from_step, from_step}, {sources.data(), plan.from.bytes},
              plan.from.bytes, some);
    const std::size_t held = plan.convert(sources.data(), targets.data(), some);
    if (held < some && refusal != nullptr) {
      *refusal = Refusal{to_text(decode(plan.from, sources.data() + held * plan.from.bytes)),
                         !plan.from.real};
      return -1;
    }
    copy_each({targets.data(), plan.to.bytes}, {data + begin * to_step, to_step}, plan.to.bytes,
              some);
    done += some;
  }
  return 0;
}

herr_t convert(hid_t from, hid_t to, H5T_cdata_t* about, std::size_t n, std::size_t stride,
               std::size_t, void* data, void*, hid_t) {
  switch (about->command) {
    case H5T_CONV_INIT: {
      const auto source = number_bits_of(from), target = number_bits_of(to);
      if (!source || !target || !target->can_be_made())
        return -1;  // the library tries another function
      about->need_bkg = H5T_BKG_NO;
      about->priv = new ConversionPlan(*source, *target);
      return 0;
    }
    case H5T_CONV_CONV:
      return convert_all(*static_cast<const ConversionPlan*>(about->priv), n, stride,
                         static_cast<std::byte*>(data), listener);
    case H5T_CONV_FREE:
      delete static_cast<ConversionPlan*>(about->priv);
      about->priv = nullptr;
      return 0;
  }
  return -1;
}

/// Returns the name of a type in memory: "u32"; for a compound of one member that member's, for one
/// of two a complex number's.
std::string target_name(hid_t type) {
  if (H5Tget_class(type) != H5T_COMPOUND) return number_name(type);
  if (H5Tget_nmembers(type) == 1) return target_name(Handle(H5Tget_member_type(type, 0), H5Tclose));
  return "c" + std::to_string(8 * H5Tget_size(type));
}

}  // namespace

std::optional<NumberBits> number_bits_of(hid_t type) {
  const H5T_class_t type_class = H5Tget_class(type);
  if (type_class != H5T_INTEGER && type_class != H5T_FLOAT) return std::nullopt;
  NumberBits form;
  form.real = type_class == H5T_FLOAT;
  form.bytes = H5Tget_size(type);
  const H5T_order_t order = H5Tget_order(type);
  if (form.bytes > 1 && order != H5T_ORDER_LE && order != H5T_ORDER_BE && order != H5T_ORDER_VAX)
    return std::nullopt;
  form.order = form.bytes == 1 || order == H5T_ORDER_LE ? NumberBits::Order::little
               : order == H5T_ORDER_BE                  ? NumberBits::Order::big
                                                        : NumberBits::Order::vax;
  if (form.real) {
    if (H5Tget_fields(type, &form.sign_at, &form.exponent_at, &form.exponent_bits,
                      &form.mantissa_at, &form.mantissa_bits) < 0)
      return std::nullopt;
    form.bias = static_cast<long>(H5Tget_ebias(type));
    form.leading = H5Tget_norm(type) == H5T_NORM_IMPLIED ? NumberBits::Leading::implied
                                                         : NumberBits::Leading::stored;
  } else {
    form.has_sign = H5Tget_sign(type) == H5T_SGN_2;
    form.offset = static_cast<std::size_t>(std::max(0, H5Tget_offset(type)));
    form.precision = H5Tget_precision(type);
  }
  return form.can_be_read() ? std::optional(form) : std::nullopt;
}

std::optional<NumberConversion> NumberConversion::between(hid_t from, hid_t to) {
  const auto source = number_bits_of(from), target = number_bits_of(to);
  if (!source || !target || !target->can_be_made()) return std::nullopt;
  return NumberConversion(std::make_shared<const ConversionPlan>(*source, *target));
}

bool NumberConversion::convert(const std::byte* from, std::byte* to, std::size_t n) const {
  for (std::size_t done = 0; done < n; done += block) {
    const std::size_t some = std::min(block, n - done);
    if (plan_->convert(from + done * plan_->from.bytes, to + done * plan_->to.bytes, some) < some)
      return false;
  }
  return true;
}

void register_conversions() {
  const std::vector<hid_t> natives = native_types();
  const auto put = [](H5T_pers_t how, hid_t from, hid_t to) {
    h5_check_rc(H5Tregister(how, "tessera", from, to, convert), ExitCode::internal, "H5Tregister");
  };
  for (const hid_t from : {H5T_NATIVE_INT, H5T_NATIVE_DOUBLE})
    for (const hid_t to : {H5T_NATIVE_INT, H5T_NATIVE_DOUBLE}) put(H5T_PERS_SOFT, from, to);
  for (const hid_t from : natives)
    for (const hid_t to : natives)
      if (H5Tequal(from, to) <= 0) put(H5T_PERS_HARD, from, to);
}

Transfer::Transfer() : outer_(std::exchange(listener, &refusal_)) {}

Transfer::~Transfer() { listener = outer_; }

bool Transfer::refused(herr_t result, const std::string& name) const {
  if (result < 0 && refusal_) return true;
  h5_check_rc(result, ExitCode::bad_data, name + " cannot be read");
  return false;
}

void Transfer::check(herr_t result, hid_t to, const std::string& name,
                     const std::string& position) const {
  if (!refused(result, name)) return;
  const std::string type = target_name(to);
  const bool whole = type.front() == 'i' || type.front() == 'u';
  const bool rounds = !whole && refusal_->is_integer;
  const bool widest = type == "f64" || type == "c128";
  const char* const reason = rounds  ? "rounding would change the integer"
                             : whole ? "out of range, or not an integer"
                                     : "out of range";
  const char* const advice =
      !rounds  ? "use another type"
      : widest ? "store the input as floats if rounded values suffice"
               : "use f64, or store the input as floats if rounded values suffice";
  throw Error(ExitCode::bad_data,
              fmt::format("{} holds {}{}, which {} cannot represent ({}); {}", name,
                          refusal_->value, position, type, reason, advice));
}

}  // namespace tessera::inline v1::io
