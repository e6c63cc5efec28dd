#pragma once
// An operand of a planned product on one rank; private to this folder.

#include <optional>
#include <span>
#include <utility>

#include "dist/matmul/multiply_plan.hpp"
#include "machine/buffer.hpp"

namespace tessera::inline v1::dist::matmul {

/// Returns the op that gives op(x) from the transposed of x; nothing for a conjugation alone.
[[nodiscard]] constexpr std::optional<Op> op_of_turned(Op op, bool is_complex_type) {
  if (op == Op::none) return Op::transpose;
  if (op == Op::transpose || !is_complex_type) return Op::none;
  return std::nullopt;
}

/// A block of an array in the caller's memory, or nothing.
using Found = std::optional<layout::Distribution::Place>;

/// Returns the view of a block at its place in the array. For StorageOrder::column_major, of the
/// transposed block.
template <class T>
[[nodiscard]] MatrixView<T> view_at(const layout::Distribution::Place& at,
                                    relayout::LocalArray<T> array, const layout::Box& box,
                                    relayout::StorageOrder order) {
  if (order == relayout::StorageOrder::row_major)
    return {array.data + at.row * array.ld + at.col, box.rows.size(), box.cols.size(), array.ld};
  return {array.data + at.col * array.ld + at.row, box.cols.size(), box.rows.size(), array.ld};
}

/// An operand on this rank: in the caller's memory, or a copy.
template <class T>
struct PlannedOperand {
  Op op;  ///< the argument of the kernel
  relayout::StorageOrder order;
  layout::Box box;
  Found place;
  layout::MatrixLayout elsewhere;  ///< the boxes of all ranks that are copied
  machine::Buffer<T> copy;

  PlannedOperand(const StoredMatrix& x, Op asked, layout::MatrixLayout need, index_t rank)
      : op(asked), order(x.order), box(need.of(rank)), elsewhere(std::move(need)) {
    const auto turned = op_of_turned(asked, is_complex<T>);
    const bool usable = order == relayout::StorageOrder::row_major || turned.has_value();
    for (index_t r = 0; usable && r < x.distribution.ranks(); ++r) {
      layout::Box& needed = elsewhere.boxes[static_cast<std::size_t>(r)];
      const Found found = needed.empty() ? Found{} : x.distribution.find(r, needed);
      if (!found) continue;
      needed = {};
      if (r == rank) place = found;
    }
    if (place && order == relayout::StorageOrder::column_major) op = *turned;
    copy = machine::Buffer<T>(elsewhere.of(rank).area());
  }
  [[nodiscard]] MatrixView<const T> view(
      std::span<const relayout::LocalArray<const T>> arrays) const {
    if (place) return view_at(*place, arrays[static_cast<std::size_t>(place->array)], box, order);
    return matrix_view<const T>(copy.data(), box.rows.size(), box.cols.size());
  }
};

}  // namespace tessera::inline v1::dist::matmul
