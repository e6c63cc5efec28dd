#pragma once
// What is asked of Product: whole products, nodes of the tree and chains, in pieces of bounded working
// memory; small products go straight to the leaf. As templates: they run on plain and on traced elements.

#include "kernels/matmul/product.hpp"

namespace tessera::matmul {

/// The rows [i, i+m) and columns [j, j+n) of a product.
template <class T>
Gemm<T> part(const Gemm<T>& g, index_t i, index_t m, index_t j, index_t n) {
  Gemm<T> out = g;
  out.a = g.op_a == Op::none ? g.a.rows_range(i, m) : g.a.cols_range(i, m);
  out.b = g.op_b == Op::none ? g.b.cols_range(j, n) : g.b.rows_range(j, n);
  out.c = g.c.block(i, j, m, n);
  return out;
}

/// body(piece) for pieces of C whose working memory is bounded: the larger of m and n is halved until it is.
template <class T, class Body>
void for_each_piece(const Gemm<T>& g, bool partial, const Body& body) {
  constexpr index_t most = working_bytes / static_cast<index_t>(sizeof(T));
  const index_t longer = std::max(g.m(), g.n());
  if (longer * chunk_length<T> <= most && !(partial && g.m() * g.n() > most)) return body(g);
  const index_t half = round_up(longer / 2, tile_rows);
  if (g.m() >= g.n()) {
    for_each_piece(part(g, 0, half, 0, g.n()), partial, body);
    for_each_piece(part(g, half, g.m() - half, 0, g.n()), partial, body);
  } else {
    for_each_piece(part(g, 0, g.m(), 0, half), partial, body);
    for_each_piece(part(g, 0, g.m(), half, g.n() - half), partial, body);
  }
}

template <class T>
index_t working_memory(const Gemm<T>& g, index_t leaf_count) {
  constexpr auto element = static_cast<index_t>(sizeof(T));
  if (g.c.empty() || g.k() == 0) return 0;
  const LeafKernels<T>& leaf = leaf_kernels<T>(machine::isa());
  const Leaves all = leaves<T>(g.k());
  const index_t chunk = std::min(chunk_length<T>, g.k());
  index_t most = 0;
  for_each_piece(g, leaf_count > 1, [&](const Gemm<T>& piece) {
    const auto packs = Product<T>(piece, all, {0, 1}).packs();
    index_t elements = 0;
    if (packs.a) elements += round_up(piece.m(), leaf.mr) * chunk;
    if (packs.b) elements += round_up(piece.n(), leaf.nr) * chunk;
    for (index_t leaves = leaf_count; leaves > 1; leaves = left({0, leaves}).count)
      elements += piece.m() * piece.n();
    most = std::max(most, elements * element);
  });
  return most;
}

/// Is this one chunk of operands so small that it is computed on one thread where it lies?
template <class T>
bool is_small(const Gemm<T>& g) {
  return !is_complex<T> && g.m() <= direct && g.n() <= direct && g.k() <= chunk_length<T> &&
         g.op_b == Op::none && (machine::team() == 1 || g.m() * g.n() * g.k() < 500'000);
}

/// A small product straight to the leaf: at n = 64 the recursion would cost a tenth of the time.
template <class T>
void multiply_in_place(const Gemm<T>& g) {
  const LeafKernels<T>& leaf = leaf_kernels<T>(machine::isa());
  const Operand<T> a = operand(g.a, g.op_a);
  leaf.multiply({.m = g.m(),
                 .n = g.n(),
                 .k = g.k(),
                 .alpha = g.alpha,
                 .a = a.data,
                 .a_row = a.row,
                 .a_step = a.step,
                 .a_sliver = leaf.mr * a.row,
                 .b = g.b.data,
                 .b_step = g.b.ld,
                 .b_panel = leaf.nr,
                 .beta = g.beta,
                 .c = g.c.data,
                 .ldc = g.c.ld},
                {}, Store::cached);
}

/// x + it is x for every x, -0 among them.
template <class T>
T negative_zero() {
  if constexpr (is_complex<T>) {
    return {Real<T>{-0.0}, Real<T>{-0.0}};
  } else {
    return T{-0.0};
  }
}

template <class T>
void subtree(const Gemm<T>& g, const Leaves& leaves, Subtree node) {
  TESSERA_EXPECTS(g.k() == leaves.begin(node.first + node.count) - leaves.begin(node.first));
  if (g.c.empty()) return;
  if (only_scales(g) && node.first > 0) return fill(g.c, negative_zero<T>());
  if (only_scales(g)) return scale(g.c, g.beta);
  for_each_piece(g, node.count > 1, [&](const Gemm<T>& piece) {
    Product<T>(piece, leaves, node).tree(node, piece.c, piece.beta);
  });
}

template <class T>
void cache_oblivious(const Gemm<T>& g) {
  if (is_small(g) && !only_scales(g)) return multiply_in_place(g);
  const Leaves all = leaves<T>(g.k());
  subtree(g, all, whole(all));
}

template <class T>
void chain(const Gemm<T>& g) {
  if (g.c.empty()) return;
  if (only_scales(g)) return scale(g.c, g.beta);
  for_each_piece(g, false, [](const Gemm<T>& piece) {
    const Leaves all = leaves<T>(piece.k());
    Product<T>(piece, all, {0, 1}).chain(0, piece.k(), piece.c, piece.beta, {});
  });
}

template <class T>
void add(MatrixView<const T> value, MatrixView<T> into) {
  if (into.empty()) return;  // there may be no memory
  const LeafKernels<T>& leaf = leaf_kernels<T>(machine::isa());
  machine::parallel_for(0, into.rows, std::max<index_t>(1, 65536 / std::max<index_t>(1, into.cols)),
                        [&](index_t first, index_t last) {
                          for (index_t i = first; i < last; ++i)
                            leaf.add(&value(i, 0), &into(i, 0), into.cols);
                        });
}

}  // namespace tessera::matmul
