#pragma once
// The rows of a box in two levels, as matrices of bytes for copies between host and device.

#include <cstddef>
#include <type_traits>

#include "base/grid_view.hpp"
#include "base/view.hpp"

namespace tessera::inline v1::stencil {

/// Calls move(from, to) for the rows of the box, whose points are counted from `from` and `to` on:
/// once for all rows if they are equally spaced in both levels, across planes too.
template <class From, class To, class Move>
void each_run_of_rows(From* from, const Index3& from_stride, To* to, const Index3& to_stride,
                      const Box3& box, const Move& move) {
  const index_t rows = box.size()[1], planes = box.size()[0], cols = box.size()[2];
  const bool even = from_stride[0] == rows * from_stride[1] && to_stride[0] == rows * to_stride[1];
  const index_t each = even ? planes : 1;
  const auto run = [&](auto* level, const Index3& stride, index_t z) {
    using Element = std::remove_reference_t<decltype(*level)>;
    Element* const first = level + z * stride[0] + box.low[1] * stride[1] + box.low[2];
    return in_bytes(MatrixView<Element>{first, each * rows, cols, stride[1]});
  };
  if (box.empty()) return;
  for (index_t z = box.low[0]; z < box.high[0]; z += each)
    move(run(from, from_stride, z), run(to, to_stride, z));
}

}  // namespace tessera::inline v1::stencil
