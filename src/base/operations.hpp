#pragma once
// Operations of kernels on registers. Loads, stores and sums of traced elements report themselves
// (instrument.hpp); what a kernel computes without them is reported here.

#include "base/index.hpp"

namespace tessera::inline v1 {

/// Counts operations on registers of a kernel on elements T; does nothing for plain numbers.
template <class T>
struct Operations {
  static void count(index_t) {}
};

}  // namespace tessera::inline v1
