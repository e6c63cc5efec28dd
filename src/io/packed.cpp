#include "io/packed.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <sstream>

#include "base/half.hpp"
#include "base/option_names.hpp"
#include "io/conversion.hpp"
#include "io/text_attribute.hpp"

namespace tessera::inline v1::io {
namespace {

using Stored = Packing::Stored;

/// The numbers of an attribute, with their type.
struct Numbers {
  bool real = false;
  index_t bytes = 0;
  std::vector<double> reals;
  std::vector<std::uint64_t> bits;  // of integers: zero- or sign-extended to 64 bits
};

std::optional<Numbers> numbers_of(hid_t dataset, const std::string& attribute,
                                  const DatasetName& name) {
  if (!has_attribute(dataset, attribute)) return std::nullopt;
  const std::string what = fmt::format("attribute '{}' of {}", attribute, name.text());
  const Handle id(
      h5_check(H5Aopen(dataset, attribute.c_str(), H5P_DEFAULT), ExitCode::bad_data, what),
      H5Aclose);
  const Handle type(H5Aget_type(id), H5Tclose), space(H5Aget_space(id), H5Sclose);
  const H5T_class_t kind = H5Tget_class(type);
  require(kind == H5T_INTEGER || kind == H5T_FLOAT, ExitCode::bad_data,
          what + " is not a number; remove it, or " +
              std::string(option_or("use --raw to read the numbers as stored",
                                    "read the numbers as stored, without packing")));
  Numbers numbers{kind == H5T_FLOAT, static_cast<index_t>(H5Tget_size(type)), {}, {}};
  const auto count =
      static_cast<std::size_t>(std::max<hssize_t>(0, H5Sget_simple_extent_npoints(space)));
  numbers.reals.resize(count);
  numbers.bits.resize(count);
  if (count == 0) return std::nullopt;
  h5_check_rc(H5Aread(id, H5T_NATIVE_DOUBLE, numbers.reals.data()), ExitCode::bad_data, what);
  if (!numbers.real)
    h5_check_rc(
        H5Aread(id, H5Tget_sign(type) == H5T_SGN_NONE ? H5T_NATIVE_UINT64 : H5T_NATIVE_INT64,
                numbers.bits.data()),
        ExitCode::bad_data, what);
  return numbers;
}

/// Zero- or sign-extends numbers of fewer than 64 bits.
std::uint64_t with_sign(std::uint64_t bits, const Packing& packing) {
  if (packing.shift == 0) return bits;
  const std::uint64_t up = bits << packing.shift;
  return packing.stored == Stored::integer
             ? static_cast<std::uint64_t>(static_cast<std::int64_t>(up) >> packing.shift)
             : up >> packing.shift;
}

/// Returns a number of an attribute in the stored form of the data; none if that cannot hold it.
std::optional<std::uint64_t> as_stored(const Numbers& numbers, std::size_t i,
                                       const Packing& packing,
                                       const std::optional<NumberBits>& form) {
  const double real = numbers.reals[i];
  if (packing.stored == Stored::real)
    return std::bit_cast<std::uint64_t>(form ? rounded_to(*form, real) : real);
  if (!numbers.real) return with_sign(numbers.bits[i], packing);
  if (!(real == std::floor(real)) || std::abs(real) >= 0x1p63) return std::nullopt;
  return with_sign(static_cast<std::uint64_t>(static_cast<std::int64_t>(real)), packing);
}

bool is_below(std::uint64_t a, std::uint64_t b, Stored stored) {
  switch (stored) {
    case Stored::integer:
      return static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b);
    case Stored::natural:
      return a < b;
    case Stored::real:
      break;
  }
  return std::bit_cast<double>(a) < std::bit_cast<double>(b);
}

bool is_missing(std::uint64_t bits, const Packing& packing) {
  for (const std::uint64_t one : packing.missing) {
    if (bits == one) return true;
    if (packing.stored != Stored::real) continue;
    const double value = std::bit_cast<double>(bits), missing = std::bit_cast<double>(one);
    if (value == missing || (std::isnan(value) && std::isnan(missing))) return true;
  }
  if (packing.bounds_values) return false;
  return (packing.has_low && is_below(bits, packing.low, packing.stored)) ||
         (packing.has_high && is_below(packing.high, bits, packing.stored));
}

/// Unpacks step by step in T, as the conventions expect.
template <class T>
T unpacked(std::uint64_t bits, const Packing& packing) {
  T value = 0;
  if (packing.stored == Stored::integer)
    value = static_cast<T>(static_cast<std::int64_t>(bits));
  else if (packing.stored == Stored::natural)
    value = static_cast<T>(bits);
  else
    value = static_cast<T>(std::bit_cast<double>(bits));
  if (!packing.scaled) return value;
  value *= static_cast<T>(packing.scale);
  value += static_cast<T>(packing.offset);
  return value;
}

/// Returns the value, or none if it is missing.
template <class T>
std::optional<T> value_of(std::uint64_t bits, const Packing& packing) {
  if (is_missing(bits, packing)) return std::nullopt;
  const T value = unpacked<T>(bits, packing);
  if (packing.bounds_values && ((packing.has_low && value < std::bit_cast<double>(packing.low)) ||
                                (packing.has_high && value > std::bit_cast<double>(packing.high))))
    return std::nullopt;
  return value;
}

constexpr index_t piece_elements = index_t{1} << 19;  // 4 MiB of 64 bits each

/// Calls body(bits, first) for the stored numbers of a slab, in pieces of whole rows along its
/// first dimension longer than 1.
template <class Body>
void each_piece(const DatasetName& name, std::vector<layout::Range> slab, index_t first,
                const Body& body) {
  index_t count = 1;
  std::size_t split = slab.size();
  for (std::size_t d = slab.size(); d-- > 0;) {
    count *= slab[d].size();
    if (slab[d].size() > 1) split = d;
  }
  if (count == 0) return;
  if (count > piece_elements && split < slab.size()) {
    const index_t row = count / slab[split].size(),
                  at_once = std::max<index_t>(1, piece_elements / row);
    const layout::Range whole = slab[split];
    for (index_t begin = whole.begin; begin < whole.end; begin += at_once) {
      slab[split] = {begin, std::min(whole.end, begin + at_once)};
      each_piece(name, slab, first + (begin - whole.begin) * row, body);
    }
    return;
  }
  const Packing& packing = *name.packing;
  std::vector<std::uint64_t> bits(static_cast<std::size_t>(count));
  read_slab(name, slab,
            {stored_bits_type(packing), bits.data(), 8, slab.empty() ? 1 : slab.back().size()});
  if (packing.shift != 0)
    for (std::uint64_t& one : bits) one = with_sign(one, packing);
  body(std::span<const std::uint64_t>(bits), first);
}

/// Converts to T. Throws Error(bad_data) if a finite value becomes infinite.
template <class T>
T held(double value, const DatasetName& name) {
  const T narrow = static_cast<T>(value);
  if (!std::isfinite(static_cast<double>(narrow)) && std::isfinite(value))
    throw Error(
        ExitCode::bad_data,
        fmt::format("{} holds numbers that f{} cannot represent (out of range); use another type",
                    name.text(), 8 * sizeof(T)));
  return narrow;
}

template <class T, class U>
void fill_values(std::span<const std::uint64_t> bits, const DatasetName& name, std::span<T> to) {
  const Packing& packing = *name.packing;
  const double none = packing.fill == Packing::Fill::mask ? 0 : packing.filled;
  for (std::size_t i = 0; i < bits.size(); ++i) {
    const std::optional<U> value = value_of<U>(bits[i], packing);
    if (!value && packing.fill == Packing::Fill::refuse)
      throw Error(ExitCode::bad_data, name.text() +
                                          " has cells without a value (_FillValue and similar "
                                          "attributes); set their value with " +
                                          std::string(option_or("--fill", "Packing::fill")));
    to[i] = held<T>(value ? static_cast<double>(*value) : none, name);
  }
}

}  // namespace

std::shared_ptr<const Packing> packing_of(const DatasetName& name, Packing::Fill fill,
                                          double filled) {
  const Handle file = open_file(name.file);
  const Handle dataset = open_dataset(file, name);
  const DatasetInfo info = inspect(dataset, name);
  if (!info.is_number()) return nullptr;
  Packing packing;
  packing.fill = fill;
  packing.filled = filled;
  const bool whole = info.kind == DatasetInfo::Kind::integer;
  bool is_signed = info.is_signed;
  const std::string other = text_of(dataset, "_Unsigned");
  if (whole && ((other == "true" && is_signed) || (other == "false" && !is_signed))) {
    is_signed = !is_signed;
    packing.turned = true;
    packing.shift = static_cast<int>(64 - 8 * info.element_bytes);
  }
  packing.stored = !whole ? Stored::real : is_signed ? Stored::integer : Stored::natural;
  const auto scale = numbers_of(dataset, "scale_factor", name),
             offset = numbers_of(dataset, "add_offset", name);
  packing.scaled = scale || offset;
  if (scale) packing.scale = scale->reals.front();
  if (offset) packing.offset = offset->reals.front();
  const auto is_wide = [](const std::optional<Numbers>& n) {
    return n && (!n->real || n->bytes > 4);
  };
  packing.in_f64 = packing.scaled
                       ? is_wide(scale) || is_wide(offset) || (!whole && info.element_bytes > 4)
                       : whole || info.element_bytes > 4;
  const auto form = number_bits_of(Handle(H5Dget_type(dataset), H5Tclose));
  for (const char* attribute : {"_FillValue", "missing_value"}) {
    const auto numbers = numbers_of(dataset, attribute, name);
    for (std::size_t i = 0; numbers && i < numbers->reals.size(); ++i)
      if (const auto bits = as_stored(*numbers, i, packing, form)) packing.missing.push_back(*bits);
  }
  const auto bound = [&](const std::optional<Numbers>& numbers, std::size_t i, bool& has,
                         std::uint64_t& at) {
    if (!numbers || i >= numbers->reals.size()) return;
    has = true;
    packing.bounds_values = packing.scaled && whole && numbers->real;
    // A bound that the stored type does not hold is compared with values, as a real number.
    const auto bits = as_stored(*numbers, i, packing, form);
    packing.bounds_values = packing.bounds_values || !bits;
    at = packing.bounds_values ? std::bit_cast<std::uint64_t>(numbers->reals[i]) : *bits;
  };
  const auto range = numbers_of(dataset, "valid_range", name);
  bound(range, 0, packing.has_low, packing.low);
  bound(range, 1, packing.has_high, packing.high);
  bound(numbers_of(dataset, "valid_min", name), 0, packing.has_low, packing.low);
  bound(numbers_of(dataset, "valid_max", name), 0, packing.has_high, packing.high);
  if (!packing.scaled && !packing.masks() && !packing.turned) return nullptr;
  return std::make_shared<const Packing>(std::move(packing));
}

std::string to_text(const Packing& p) {
  std::string text = fmt::format(
      "{} {} {:d} {:d} {:d} {} {} {:d} {:d} {:d} {} {} {} {} {}", static_cast<int>(p.stored),
      p.shift, p.turned, p.in_f64, p.scaled, std::bit_cast<std::uint64_t>(p.scale),
      std::bit_cast<std::uint64_t>(p.offset), p.has_low, p.has_high, p.bounds_values, p.low, p.high,
      static_cast<int>(p.fill), std::bit_cast<std::uint64_t>(p.filled), p.missing.size());
  for (const std::uint64_t one : p.missing) text += fmt::format(" {}", one);
  return text;
}

Packing parse_packing(const std::string& text) {
  std::istringstream in(text);
  Packing p;
  int stored = 0, fill = 0;
  std::uint64_t scale = 0, offset = 0, filled = 0, count = 0;
  in >> stored >> p.shift >> p.turned >> p.in_f64 >> p.scaled >> scale >> offset >> p.has_low >>
      p.has_high >> p.bounds_values >> p.low >> p.high >> fill >> filled >> count;
  p.stored = static_cast<Stored>(stored);
  p.fill = static_cast<Packing::Fill>(fill);
  p.scale = std::bit_cast<double>(scale);
  p.offset = std::bit_cast<double>(offset);
  p.filled = std::bit_cast<double>(filled);
  p.missing.resize(in ? count : 0);
  for (std::uint64_t& one : p.missing) in >> one;
  require(!in.fail(), ExitCode::internal, "packing parameters are incomplete");
  return p;
}

hid_t stored_bits_type(const Packing& packing) {
  if (packing.stored == Stored::real) return H5T_NATIVE_DOUBLE;
  return (packing.stored == Stored::natural) != packing.turned ? H5T_NATIVE_UINT64
                                                               : H5T_NATIVE_INT64;
}

void mark_missing(std::span<const std::uint64_t> bits, const Packing& packing,
                  std::span<std::uint32_t> to) {
  for (std::size_t i = 0; i < bits.size(); ++i) {
    const std::uint64_t one = with_sign(bits[i], packing);
    const bool there = packing.in_f64 ? value_of<double>(one, packing).has_value()
                                      : value_of<float>(one, packing).has_value();
    to[i] = there ? 0 : 1;
  }
}

void read_missing(const DatasetName& name, std::span<const layout::Range> slab,
                  std::span<std::uint32_t> to) {
  each_piece(
      name, {slab.begin(), slab.end()}, 0, [&](std::span<const std::uint64_t> bits, index_t first) {
        mark_missing(bits, *name.packing, to.subspan(static_cast<std::size_t>(first), bits.size()));
      });
}

Missing missing_in(const DatasetName& name, std::span<const layout::Range> slab) {
  Missing found;
  std::vector<std::uint32_t> missing;
  each_piece(name, {slab.begin(), slab.end()}, 0,
             [&](std::span<const std::uint64_t> bits, index_t first) {
               missing.resize(bits.size());
               mark_missing(bits, *name.packing, missing);
               for (std::size_t i = 0; i < missing.size(); ++i)
                 if (missing[i] != 0 && found.count++ == 0)
                   found.first = first + static_cast<index_t>(i);
             });
  return found;
}

template <class T>
void read_values(const DatasetName& name, std::span<const layout::Range> slab, std::span<T> to) {
  each_piece(name, {slab.begin(), slab.end()}, 0,
             [&](std::span<const std::uint64_t> bits, index_t first) {
               const auto part = to.subspan(static_cast<std::size_t>(first), bits.size());
               if (name.packing->in_f64)
                 fill_values<T, double>(bits, name, part);
               else
                 fill_values<T, float>(bits, name, part);
             });
}

template void read_values<Half>(const DatasetName&, std::span<const layout::Range>,
                                std::span<Half>);
template void read_values<float>(const DatasetName&, std::span<const layout::Range>,
                                 std::span<float>);
template void read_values<double>(const DatasetName&, std::span<const layout::Range>,
                                  std::span<double>);

}  // namespace tessera::inline v1::io
