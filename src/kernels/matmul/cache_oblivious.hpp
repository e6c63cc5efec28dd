#pragma once
// The fast product: a recursion with packing, register blocking, vectorisation and tasks. The bits
// of C are fixed (summation.hpp). Call it inside machine::parallel(threads, ...); outside any team
// it runs on the calling thread.

#include "kernels/matmul/gemm.hpp"
#include "kernels/matmul/summation.hpp"

namespace tessera::inline v1::matmul {

/// Computes g by the whole tree of leaves over k.
template <class T, class S = T>
void cache_oblivious(const Gemm<T, S>& g);

/// Computes the value of one node of the tree `leaves` from the slices of a and b for its range of
/// k: g.k() == leaves.begin(node.first + node.count) - leaves.begin(node.first). Only the node with
/// first == 0 starts from beta * c; for the others beta must be 0.
template <class T, class S = T>
void subtree(const Gemm<T, S>& g, const Leaves& leaves, Subtree node);

/// Computes one chain of chunks from the start of the slices, without the tree: a leaf, or a run of
/// whole chunks of a leaf if beta is 1 for all runs but the first.
template <class T, class S = T>
void chain(const Gemm<T, S>& g);

/// Computes into += value: one inner node of the tree.
template <class T>
void add(MatrixView<const T> value, MatrixView<T> into);

/// Returns the working memory of a thread for a product of this shape, in bytes, in addition to
/// operands and C: packed chunks and the partial sums of a tree of leaf_count leaves. The thread
/// keeps it for its next product. Only shapes, strides and ops of g matter; its data may be null,
/// and is then assumed at an arbitrary offset in a cache line.
template <class T, class S = T>
[[nodiscard]] index_t working_memory(const Gemm<T, S>& g, index_t leaf_count);

/// Returns the number of threads, at most `threads`, that a product of this size keeps busy.
template <class T>
[[nodiscard]] int useful_threads(index_t m, index_t n, index_t k, int threads);

/// Computes a product of halves: sums in float with the bits of those of the operands as floats,
/// in working memory of at most 64 MiB; each element of c is rounded once.
void cache_oblivious(const Gemm<Half>& g);
void cache_oblivious(const Gemm<BFloat16>& g);

}  // namespace tessera::inline v1::matmul
