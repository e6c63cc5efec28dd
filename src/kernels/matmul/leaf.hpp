#pragma once
// The leaf of the recursion, compiled once per instruction set: macro-kernel, micro-kernel and
// packing (terms of Goto and van de Geijn 2008).
//
// C is row-major, so vectors run along n. A micro-kernel holds mr rows x nr columns of C in
// registers and traverses one chunk of k: each step loads nr / lanes vectors of B and broadcasts mr
// elements of A. Operands are packed in the order of that traversal, with zeros in rows and columns
// beyond the edge:
//
//   A: slivers of mr rows,    sliver[p][0:mr]          B: panels of nr columns, panel[p][0:nr]
//
// or, where packing would cost more than it saves, read in place through strides.

#include "kernels/matmul/operand.hpp"
#include "machine/isa.hpp"

namespace tessera::inline v1::matmul {

/// One chunk of a tile: c[0:m, 0:n] = alpha * (a * b) + beta * c, where a * b is one chain of fma
/// over the chunk [0, k). With onto: onto[0:m, 0:n] += that value, and c is unchanged, so the last
/// chunk of a leaf is added to its sibling without a separate pass. Two cache lines long, because
/// every leaf constructs one.
template <class T>
struct alignas(64) LeafTile {
  index_t m, n, k;
  T alpha;
  const T* a;  ///< element (i, p) at a[i / mr * a_sliver + i % mr * a_row + p * a_step]
  index_t a_row, a_step, a_sliver;
  const T* b;  ///< element (p, j) at b[j / nr * b_panel + p * b_step + j % nr]
  index_t b_step, b_panel;
  T beta;
  T* c;
  index_t ldc;
  T* onto = nullptr;
  index_t ldonto = 0;
};

/// Operands to prefetch during the tile, as far as time permits. Unpacked operands: the range
/// [begin, end) of k after the chunk. Packed operands: where those of the next tile begin, nullptr
/// if they are the same. Separate from LeafTile, which would otherwise take three cache lines
/// instead of two.
template <class T>
struct Following {
  index_t begin = 0, end = 0;
  const T* a = nullptr;
  const T* b = nullptr;
};

/// How the tile is stored. past_caches (streaming stores) avoids reading lines for ownership that
/// are not reused soon. Precondition: b is packed, beta == 0, no onto, and c and its rows are
/// aligned to cache lines.
enum class Store { cached, past_caches };

template <class T>
struct LeafKernels {
  index_t mr, nr;
  void (*multiply)(const LeafTile<T>& tile, Following<T> next, Store store);
  /// Packs a[0:rows, 0:k] into ceil(rows / mr) slivers of k * mr elements.
  void (*pack_a)(Operand<T> a, index_t rows, index_t k, T* packed);
  /// Packs b[0:k, 0:cols] into ceil(cols / nr) panels of k * nr elements.
  void (*pack_b)(Operand<T> b, index_t k, index_t cols, T* packed);
  /// Computes into[0:n] += value[0:n].
  void (*add)(const T* value, T* into, index_t n);
};

/// Returns the leaf kernels of an instruction set; the portable ones if the build has none for it.
template <class T>
[[nodiscard]] const LeafKernels<T>& leaf_kernels(machine::Isa isa);

/// The conversions of products of halves S, which are computed in float.
template <class S>
struct HalfKernels {
  /// As those of LeafKernels<float>, of elements that are converted.
  void (*pack_a)(Operand<S> a, index_t rows, index_t k, float* packed);
  void (*pack_b)(Operand<S> b, index_t k, index_t cols, float* packed);
  /// Computes to[0:n] = from[0:n], exactly.
  void (*widen)(const S* from, float* to, index_t n);
  /// Computes to[0:n] = from[0:n], rounded to the nearest, ties to even.
  void (*narrow)(const float* from, S* to, index_t n);
};

/// Returns those of an instruction set, as leaf_kernels().
template <class S>
[[nodiscard]] const HalfKernels<S>& half_kernels(machine::Isa isa);

}  // namespace tessera::inline v1::matmul
