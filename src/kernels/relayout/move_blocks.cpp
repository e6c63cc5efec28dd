// Blocks are moved stretch of rows by stretch of rows; transposes by the leaves of the transpose,
// scaled ones through a block in the first-level cache, which has the orientation of the result.

#include "kernels/relayout/move_blocks.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/transpose/combine.hpp"
#include "kernels/transpose/leaf.hpp"
#include "kernels/transpose/records.hpp"

namespace tessera::inline v1::relayout {
namespace {

using transpose::CombineSet;
using transpose::Leaf;
using transpose::LeafSet;
using transpose::Store;

constexpr index_t scratch_side = most_rows;

/// Transposes rows x cols records of `from` (strides in bytes) by a leaf, or one by one.
void transpose_block(const LeafSet& leaves, const std::byte* from, index_t from_stride,
                     std::byte* to, index_t to_stride, index_t rows, index_t cols, index_t bytes) {
  if (transpose::has_leaf(bytes)) {
    leaves.transpose(Leaf{from, from_stride, to, to_stride, rows, cols, bytes, Store::cached});
    return;
  }
  transpose::with_record(bytes, [&](const auto& copy) {
    for (index_t j = 0; j < cols; ++j)
      for (index_t i = 0; i < rows; ++i)
        copy(to + j * to_stride + i * bytes, from + i * from_stride + j * bytes);
  });
}

/// Copies short stretches record by record, long ones at once.
void copy_row(const std::byte* from, std::byte* to, std::span<const Stretch> cols, index_t bytes) {
  constexpr index_t few = 4;  // records, below which a call of memcpy costs more than they
  for (const Stretch& col : cols) {
    if (col.size > few) {
      std::memcpy(to + col.to * bytes, from + col.from * bytes,
                  static_cast<std::size_t>(col.size * bytes));
      continue;
    }
    transpose::with_record(bytes, [&](const auto& copy) {
      for (index_t j = 0; j < col.size; ++j)
        copy(to + (col.to + j) * bytes, from + (col.from + j) * bytes);
    });
  }
}

void copy_rows(const BlockMove& move, const Stretch& row, index_t bytes) {
  const auto& [rows, cols, from, to, turn] = move;
  if (turn == Turn::no) {
    for (index_t i = 0; i < row.size; ++i)
      copy_row(from.data + (row.from + i) * from.ld * bytes, to.data + (row.to + i) * to.ld * bytes,
               cols, bytes);
    return;
  }
  const LeafSet& leaves = transpose::leaf_set(machine::isa());
  for (const Stretch& col : cols) {
    transpose_block(leaves, from.data + (col.from * from.ld + row.from) * bytes, from.ld * bytes,
                    to.data + (row.to * to.ld + col.to) * bytes, to.ld * bytes, col.size, row.size,
                    bytes);
  }
}

/// to[0:n] = alpha * from[0:n] + beta * to[0:n], for real factors by the vectorised loops.
template <class T>
void combine_row(const CombineSet& set, const Factors& factors, const T* from, T* to, index_t n) {
  const auto real = [](double x) { return static_cast<Real<T>>(x); };
  if (factors.alpha.im == 0 && factors.beta.im == 0) {
    constexpr index_t parts = is_complex<T> ? 2 : 1;
    const auto* const a = reinterpret_cast<const Real<T>*>(from);
    auto* const b = reinterpret_cast<Real<T>*>(to);
    if constexpr (std::is_same_v<Real<T>, float>)
      set.f32(real(factors.alpha.re), a, real(factors.beta.re), b, parts * n);
    else
      set.f64(real(factors.alpha.re), a, real(factors.beta.re), b, parts * n);
    return;
  }
  if constexpr (is_complex<T>) {
    const T alpha{real(factors.alpha.re), real(factors.alpha.im)};
    const T beta{real(factors.beta.re), real(factors.beta.im)};
    const bool reads_to = factors.beta != Complex<double>{0};
    const bool reads_from = factors.alpha != Complex<double>{0};
    for (index_t i = 0; i < n; ++i) {
      const T term = reads_from ? scaled(alpha, from[i]) : T{0};
      to[i] = reads_to ? term + scaled(beta, to[i]) : term;
    }
  }
}

/// Updates a block, at most scratch_side records wide, by way of a copy in the orientation of the
/// result where that is transposed or conjugated.
template <class T>
void update_block(const BlockMove& move, const Factors& factors, const Stretch& row,
                  const Stretch& col) {
  constexpr index_t bytes{sizeof(T)};
  const auto& [rows, cols, from, to, turn] = move;
  alignas(64) T scratch[scratch_side * scratch_side];
  const bool reads = factors.alpha != Complex<double>{0};
  const bool conjugates = is_complex<T> && factors.conjugates;
  const bool copies = reads && (turn == Turn::yes || conjugates);
  const auto* const a = reinterpret_cast<const T*>(from.data);
  auto* const b = reinterpret_cast<T*>(to.data);
  if (copies && turn == Turn::yes) {
    transpose_block(transpose::leaf_set(machine::isa()),
                    from.data + (col.from * from.ld + row.from) * bytes, from.ld * bytes,
                    reinterpret_cast<std::byte*>(scratch), scratch_side * bytes, col.size, row.size,
                    bytes);
  } else if (copies) {
    for (index_t i = 0; i < row.size; ++i)
      std::copy_n(a + (row.from + i) * from.ld + col.from, col.size, scratch + i * scratch_side);
  }
  for (index_t i = 0; i < row.size; ++i) {
    T* const line = scratch + i * scratch_side;
    if (copies && conjugates)
      std::transform(line, line + col.size, line, [](const T& x) { return conjugate(x); });
    const T* const x = copies || !reads ? line : a + (row.from + i) * from.ld + col.from;
    combine_row(transpose::combine_set(machine::isa()), factors, x,
                b + (row.to + i) * to.ld + col.to, col.size);
  }
}

template <class T>
void update_rows(const BlockMove& move, const Factors& factors, const Stretch& row) {
  for (const Stretch& col : move.cols) {
    for (index_t done = 0; done < col.size; done += scratch_side)
      update_block<T>(move, factors, row,
                      {std::min(scratch_side, col.size - done), col.from + done, col.to + done});
  }
}

}  // namespace

void move_rows(const BlockMove& move, const ElementKind& kind, const Factors& factors,
               index_t begin, index_t end) {
  for (index_t r = begin; r < end; ++r) {
    const Stretch& row = move.rows[static_cast<std::size_t>(r)];
    if (factors.plain()) {
      copy_rows(move, row, kind.bytes);
      continue;
    }
    dispatch_field(kind.number, [&]<class T>(Type<T>) { update_rows<T>(move, factors, row); });
  }
}

}  // namespace tessera::inline v1::relayout
