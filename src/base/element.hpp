#pragma once
// Element types by name, and the one place where a name becomes a template argument.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/error.hpp"

namespace tessera {

enum class Element { f32, f64, i32, i64, u32, u64 };

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

[[nodiscard]] constexpr const ElementInfo& info(Element element) {
  return elements[static_cast<std::size_t>(element)];
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
template <class T>
inline constexpr Element element_of = ElementOf<T>::value;

template <class T>
struct Type {
  using type = T;
};

/// f(Type<float>{}) or f(Type<double>{}); throws Error(usage) for other elements.
template <class F>
decltype(auto) dispatch_floating(Element element, F&& f) {
  require(element == Element::f32 || element == Element::f64, ExitCode::usage,
          "this workload computes in f32 or f64; choose one of them with --type");
  if (element == Element::f32) return std::forward<F>(f)(Type<float>{});
  return std::forward<F>(f)(Type<double>{});
}

/// f(Type<T>{}) for any element type.
template <class F>
decltype(auto) dispatch_element(Element element, F&& f) {
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
      break;
  }
  return std::forward<F>(f)(Type<std::uint64_t>{});
}

}  // namespace tessera
