#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "base/text.hpp"
#include "machine/gpu.hpp"
#include "run/options.hpp"

namespace tessera::inline v1::run {
namespace {

/// Parses "1000", "-3", "1e6" as an integer.
index_t parse_integer(const std::string& text, const std::string& where) {
  index_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  double real = 0;
  const auto [real_end, real_error] = std::from_chars(text.data(), text.data() + text.size(), real);
  const bool whole = real_error == std::errc() && real_end == text.data() + text.size() &&
                     std::abs(real) < 9e18 && real == std::floor(real);
  if (!whole) throw_usage(fmt::format("{}: '{}' is not a 64-bit integer", where, text));
  return static_cast<index_t>(real);
}

std::optional<double> finite_number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return {};
  return value;
}

double parse_real(const std::string& text, const std::string& where) {
  const auto value = finite_number(text);
  if (!value) throw_usage(fmt::format("{}: '{}' is not a finite number", where, text));
  return *value;
}

index_t parse_amount(const std::string& text, const std::string& where) {
  try {
    return parse_bytes(text);
  } catch (const Error& error) {
    throw_usage(where + ": " + error.what());
  }
}

void check_bounds(const Option& option, double value, const std::string& text,
                  const std::string& where) {
  if (!(value < option.low) && !(value > option.high)) return;
  throw_usage(option.high < 1e300
                  ? fmt::format("{}: {} is outside {} to {}", where, text, human_number(option.low),
                                human_number(option.high))
                  : fmt::format("{}: {} is below {}", where, text, human_number(option.low)));
}

std::string check_one(const Option& option, const std::string& text, const std::string& where) {
  switch (option.kind) {
    case Kind::text:
      return text;
    case Kind::flag:
      if (text == "true" || text == "1" || text == "yes" || text == "on") return "true";
      if (text == "false" || text == "0" || text == "no" || text == "off" || text.empty())
        return "";
      throw_usage(fmt::format("{}: '{}' is neither true nor false", where, text));
    case Kind::choice:
      for (const std::string& choice : option.choices) {
        if (choice == text) return text;
      }
      if (text.starts_with("cuda_") && !machine::gpus().built)
        throw_usage(fmt::format(
            "{}: {} needs a GPU: none is available ({}); use a host kernel or another build", where,
            text, machine::gpus().reason));
      throw_usage(
          fmt::format("{}: unknown value '{}'{}", where, text, suggestion(text, option.choices)));
    case Kind::integer: {
      const index_t value = parse_integer(text, where);
      check_bounds(option, static_cast<double>(value), text, where);
      return std::to_string(value);
    }
    case Kind::real:
      check_bounds(option, parse_real(text, where), text, where);
      return text;
    case Kind::complex:
      (void)parse_complex(text, where);
      return text;
    case Kind::bytes:
      break;
  }
  check_bounds(option, static_cast<double>(parse_amount(text, where)), text, where);
  return text;
}

/// Expands begin:end:step or begin:end:xFACTOR; `end` is included if a step reaches it.
std::vector<std::string> expand_range(const std::string& text, const std::string& where) {
  const auto parts = split(text, ':');
  if (parts.size() < 2 || parts.size() > 3) {
    throw_usage(fmt::format(
        "{}: '{}' is not a valid range; write begin:end:step or begin:end:xFACTOR", where, text));
  }
  const index_t begin = parse_integer(parts[0], where), end = parse_integer(parts[1], where);
  const bool times = parts.size() == 3 && parts[2].starts_with('x');
  const index_t step =
      parts.size() < 3 ? 1 : parse_integer(times ? parts[2].substr(1) : parts[2], where);
  if (begin > end || step < (times ? 2 : 1) || (times && begin < 1)) {
    throw_usage(fmt::format("{}: the range '{}' does not increase from begin to end", where, text));
  }
  std::vector<std::string> values;
  constexpr std::size_t most = 100000;
  for (index_t value = begin; value <= end;) {
    values.push_back(std::to_string(value));
    if (values.size() > most)
      throw_usage(fmt::format("{}: the range '{}' has more than {} values", where, text, most));
    // No operation overflows in this order: a geometric range is positive, and end - value is never
    // negative.
    const auto left = static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(value);
    if (times ? value > end / step : left < static_cast<std::uint64_t>(step)) break;
    value = times ? value * step : value + step;
  }
  return values;
}

}  // namespace

Complex<double> parse_complex(const std::string& text, const std::string& where) {
  const auto part = [&](const std::string& word) {
    const auto value = finite_number(word);
    if (!value)
      throw_usage(
          fmt::format("{}: '{}' is not a finite number (complex ones: 1.5-2j, 0+1j)", where, text));
    return *value;
  };
  if (!text.ends_with('j')) return part(text);
  // The imaginary part begins at the last sign that is not an exponent's.
  std::size_t sign = text.size() - 1;
  while (sign > 0 &&
         (text.find_first_of("+-", sign) != sign || text.find_first_of("eE", sign - 1) == sign - 1))
    --sign;
  std::string imaginary = text.substr(sign, text.size() - 1 - sign);
  if (imaginary.starts_with('+')) imaginary.erase(0, 1);
  return {sign == 0 ? 0 : part(text.substr(0, sign)), part(imaginary)};
}

std::vector<std::string> expand(const Option& option, const std::string& text,
                                const std::string& where) {
  if (!option.axis) {
    if (option.kind == Kind::integer && text.find_first_of(",:") != std::string::npos) {
      throw_usage(fmt::format("{}: takes one value, not a list or range", where));
    }
    return {check_one(option, text, where)};
  }
  std::vector<std::string> values;
  for (const std::string& part : split(text, ',')) {
    if (option.kind == Kind::integer && part.find(':') != std::string::npos) {
      for (const std::string& value : expand_range(part, where))
        values.push_back(check_one(option, value, where));
    } else {
      values.push_back(check_one(option, part, where));
    }
  }
  return values;
}

}  // namespace tessera::inline v1::run
