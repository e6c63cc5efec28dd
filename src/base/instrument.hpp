#pragma once
// What kernels ask of their element type beside arithmetic, so that an element which reports its
// loads and stores (lab/locality/traced.hpp) can take the place of a plain number. For plain
// numbers all of it is nothing.

#include <type_traits>

namespace tessera {

/// Does T report its loads and stores?
template <class T>
inline constexpr bool is_traced = false;

/// A U that reports as T does: counters beside keys, positions beside values.
template <class T, class U>
struct LikeOf {
  using type = U;
};
template <class T, class U>
using Like = typename LikeOf<T, U>::type;

/// The number in a T.
template <class T>
struct PlainOf {
  using type = T;
};
template <class T>
using Plain = typename PlainOf<T>::type;

/// Lives while a kernel works on one subproblem of its recursion.
template <class T>
struct Subproblem {};

}  // namespace tessera
