#pragma once
// The fast product: packed, register-blocked, vectorised, on tasks. The bits of C are fixed
// (summation.hpp). Run inside machine::parallel(threads, ...); outside any team it runs on the
// calling thread.

#include "kernels/matmul/gemm.hpp"
#include "kernels/matmul/summation.hpp"

namespace tessera::matmul {

/// The whole tree of leaves over k.
template <class T>
void cache_oblivious(const Gemm<T>& g);

/// The value of one node of the tree `leaves`, from the slices of a and b that belong to its range
/// of k: g.k() == leaves.begin(node.first + node.count) - leaves.begin(node.first). Only the node
/// with first == 0 starts from beta * c; for the others beta must be 0.
template <class T>
void subtree(const Gemm<T>& g, const Leaves& leaves, Subtree node);

/// One chain of chunks from the start of the slices, without the tree: a leaf, or a run of whole
/// chunks of one when beta is 1 for all but the first.
template <class T>
void chain(const Gemm<T>& g);

/// into += value: one inner node of the tree.
template <class T>
void add(MatrixView<const T> value, MatrixView<T> into);

/// Bytes that a thread's product of this shape works in beside its operands and C, which then stay
/// for the next: packed chunks, and the partial sums of a tree of so many leaves. Of g only shapes,
/// strides and ops count; its data may be null, and is then taken to begin anywhere in a line.
template <class T>
[[nodiscard]] index_t working_memory(const Gemm<T>& g, index_t leaf_count);

/// As many of `threads` as a product of this size can keep busy.
template <class T>
[[nodiscard]] int useful_threads(index_t m, index_t n, index_t k, int threads);

}  // namespace tessera::matmul
