#pragma once
// Box filters of other libraries, each in its own file: mean over size x size of n x n floats,
// edges clamped.

#include <functional>

namespace tessera::bench {

/// Returns a call of the filter, or an empty function if the library is not installed. Rows of in
/// and out are contiguous.
std::function<void()> opencv_box(const float* in, float* out, int n, int size, int threads);
std::function<void()> halide_box(const float* in, float* out, int n, int size, int threads);

}  // namespace tessera::bench
