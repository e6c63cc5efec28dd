#pragma once
// Hooks by which kernels are instantiated with an element that reports its loads and stores
// (lab/locality/traced.hpp) instead of a plain number. For plain numbers they compile to nothing.

#include <type_traits>

namespace tessera::inline v1 {

/// True if T reports its loads and stores.
template <class T>
inline constexpr bool is_traced = false;

/// U, traced if T is: for the type of counters that accompany keys, or positions that accompany
/// values.
template <class T, class U>
struct LikeOf {
  using type = U;
};
template <class T, class U>
using Like = typename LikeOf<T, U>::type;

/// The plain number type behind T.
template <class T>
struct PlainOf {
  using type = T;
};
template <class T>
using Plain = typename PlainOf<T>::type;

/// A scope object that marks one subproblem of a kernel's recursion.
template <class T>
struct Subproblem {};

}  // namespace tessera::inline v1
