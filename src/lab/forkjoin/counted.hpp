#pragma once
// Operations of traced kernels on registers, counted as arithmetic.

#include "base/operations.hpp"
#include "lab/locality/traced.hpp"

namespace tessera::inline v1 {

template <class T>
struct Operations<locality::Traced<T>> {
  static void count(index_t operations) { locality::recorder.arithmetic += operations; }
};

}  // namespace tessera::inline v1
