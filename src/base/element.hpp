#pragma once
// Element types by name, and the dispatch from a name to a template argument.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/complex.hpp"
#include "base/error.hpp"
#include "base/half.hpp"

namespace tessera::inline v1 {

enum class Element { f32, f64, i32, i64, u32, u64, c64, c128, f16 };

struct ElementInfo {
  Element element;
  std::string_view name;
  std::size_t bytes;
};

inline constexpr std::array<ElementInfo, 6> elements{{{Element::f32, "f32", 4},
                                                      {Element::f64, "f64", 8},
                                                      {Element::i32, "i32", 4},
                                                      {Element::i64, "i64", 8},
                                                      {Element::u32, "u32", 4},
                                                      {Element::u64, "u64", 8}}};

/// Numbers without an order, hence not valid as keys.
inline constexpr std::array<ElementInfo, 2> complex_elements{
    {{Element::c64, "c64", 8}, {Element::c128, "c128", 16}}};

/// A storage type; arithmetic is in f32.
inline constexpr ElementInfo half_element{Element::f16, "f16", 2};

[[nodiscard]] constexpr bool is_complex_element(Element element) {
  return element == Element::c64 || element == Element::c128;
}
[[nodiscard]] constexpr const ElementInfo& info(Element element) {
  if (element == Element::f16) return half_element;
  const auto at = static_cast<std::size_t>(element);
  return at < elements.size() ? elements[at] : complex_elements[at - elements.size()];
}
[[nodiscard]] constexpr std::string_view name(Element element) { return info(element).name; }
[[nodiscard]] constexpr std::size_t bytes(Element element) { return info(element).bytes; }

template <class T>
struct ElementOf;
template <>
struct ElementOf<float> : std::integral_constant<Element, Element::f32> {};
template <>
struct ElementOf<double> : std::integral_constant<Element, Element::f64> {};
template <>
struct ElementOf<std::int32_t> : std::integral_constant<Element, Element::i32> {};
template <>
struct ElementOf<std::int64_t> : std::integral_constant<Element, Element::i64> {};
template <>
struct ElementOf<std::uint32_t> : std::integral_constant<Element, Element::u32> {};
template <>
struct ElementOf<std::uint64_t> : std::integral_constant<Element, Element::u64> {};
template <>
struct ElementOf<Complex<float>> : std::integral_constant<Element, Element::c64> {};
template <>
struct ElementOf<Complex<double>> : std::integral_constant<Element, Element::c128> {};
template <>
struct ElementOf<Half> : std::integral_constant<Element, Element::f16> {};
template <class T>
inline constexpr Element element_of = ElementOf<T>::value;

template <class T>
struct Type {
  using type = T;
};

/// Calls f(Type<float>{}) or f(Type<double>{}). Throws Error(usage) for other elements.
template <class F>
decltype(auto) dispatch_floating(Element element, F&& f) {
  require(element == Element::f32 || element == Element::f64, ExitCode::usage,
          "--type: the workload computes in f32 or f64; use one of them");
  if (element == Element::f32) return std::forward<F>(f)(Type<float>{});
  return std::forward<F>(f)(Type<double>{});
}

/// Calls f(Type<Half>{}) for f16; otherwise as dispatch_floating.
template <class F>
decltype(auto) dispatch_kept(Element element, F&& f) {
  if (element == Element::f16) return std::forward<F>(f)(Type<Half>{});
  return dispatch_floating(element, std::forward<F>(f));
}

/// Calls f(Type<T>{}) for f32, f64, c64 or c128. Throws Error(usage) for other elements.
template <class F>
decltype(auto) dispatch_field(Element element, F&& f) {
  if (element == Element::c64) return std::forward<F>(f)(Type<Complex<float>>{});
  if (element == Element::c128) return std::forward<F>(f)(Type<Complex<double>>{});
  return dispatch_floating(element, std::forward<F>(f));
}

/// Calls f(Type<T>{}) for any element type with an order. Throws Error(usage) for complex numbers
/// and f16.
template <class F>
decltype(auto) dispatch_element(Element element, F&& f) {
  require(!is_complex_element(element), ExitCode::usage, "complex numbers have no order");
  require(element != Element::f16, ExitCode::usage, "keys in f16 are not supported");
  switch (element) {
    case Element::f32:
      return std::forward<F>(f)(Type<float>{});
    case Element::f64:
      return std::forward<F>(f)(Type<double>{});
    case Element::i32:
      return std::forward<F>(f)(Type<std::int32_t>{});
    case Element::i64:
      return std::forward<F>(f)(Type<std::int64_t>{});
    case Element::u32:
      return std::forward<F>(f)(Type<std::uint32_t>{});
    case Element::u64:
    case Element::c64:
    case Element::c128:
    case Element::f16:
      break;
  }
  return std::forward<F>(f)(Type<std::uint64_t>{});
}

}  // namespace tessera::inline v1
