#pragma once
// The leaf of the recursion: what is compiled once for each instruction set.
//
// C is row-major, so vectors lie along n. A micro-kernel holds mr rows x nr columns of C in
// registers and walks one chunk of k: nr / lanes vectors of B are loaded, each of mr elements of A
// is broadcast. Operands are packed in the order of that walk, rows and columns beyond the edge as
// zeros:
//
//   A: slivers of mr rows,    sliver[p][0:mr]          B: panels of nr columns, panel[p][0:nr]
//
// or, where packing would cost more than it saves, read where they lie: the strides say which.

#include "kernels/matmul/operand.hpp"
#include "machine/isa.hpp"

namespace tessera::matmul {

/// c[0:m, 0:n] = alpha * (a * b) + beta * c, where a * b is one chain of fma over the chunk [0, k);
/// or, with onto, onto[0:m, 0:n] += that value and c stays: the last chunk of a leaf enters its
/// sibling without a pass of its own. Two lines of a cache, for one is made at every leaf.
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

/// What comes after the tile, and is fetched meanwhile as far as there is time. Of operands that
/// lie free, [begin, end) of k behind the chunk; of packed ones, where the next tile's begin, or
/// nowhere if it has them too. Not part of the tile, whose two lines it would make three.
template <class T>
struct Following {
  index_t begin = 0, end = 0;
  const T* a = nullptr;
  const T* b = nullptr;
};

/// Where the tile goes. Past the caches: lines that nobody reads soon need not be read before they
/// are written. Only of packed b, where beta == 0 and there is no onto, c and its rows beginning
/// with a line.
enum class Store { cached, past_caches };

template <class T>
struct LeafKernels {
  index_t mr, nr;
  void (*multiply)(const LeafTile<T>& tile, Following<T> next, Store store);
  /// a[0:rows, 0:k] into ceil(rows / mr) slivers of k * mr elements.
  void (*pack_a)(Operand<T> a, index_t rows, index_t k, T* packed);
  /// b[0:k, 0:cols] into ceil(cols / nr) panels of k * nr elements.
  void (*pack_b)(Operand<T> b, index_t k, index_t cols, T* packed);
  /// into[0:n] += value[0:n]
  void (*add)(const T* value, T* into, index_t n);
};

/// The leaf kernels of an instruction set; where the build has none for it, the portable ones.
template <class T>
[[nodiscard]] const LeafKernels<T>& leaf_kernels(machine::Isa isa);

}  // namespace tessera::matmul
