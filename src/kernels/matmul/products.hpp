#pragma once
// The entry points of Product: whole products, nodes of the tree and chains, in pieces of bounded
// working memory; small products call the leaf directly. Templates for plain and traced elements.

#include <algorithm>
#include <set>
#include <utility>

#include "kernels/matmul/product.hpp"

namespace tessera::inline v1::matmul {

/// Returns rows [i, i+m) and columns [j, j+n) of a product.
template <class T, class S>
Gemm<T, S> part(const Gemm<T, S>& g, index_t i, index_t m, index_t j, index_t n) {
  Gemm<T, S> out = g;
  out.a = g.op_a == Op::none ? g.a.rows_range(i, m) : g.a.cols_range(i, m);
  out.b = g.op_b == Op::none ? g.b.cols_range(j, n) : g.b.rows_range(j, n);
  out.c = g.c.block(i, j, m, n);
  return out;
}

/// Returns whether the working memory of a product is within the bound. partial: includes sums of
/// leaves of the size of C.
template <class T, class S>
bool is_piece(const Gemm<T, S>& g, bool partial) {
  constexpr index_t most = working_bytes / static_cast<index_t>(sizeof(T));
  return std::max(g.m(), g.n()) * chunk_length<T> <= most && !(partial && g.m() * g.n() > most);
}

/// Returns the halves of a product along the larger of m and n.
template <class T, class S>
std::pair<Gemm<T, S>, Gemm<T, S>> halves(const Gemm<T, S>& g) {
  const index_t half = round_up(std::max(g.m(), g.n()) / 2, tile_rows);
  if (g.m() >= g.n()) return {part(g, 0, half, 0, g.n()), part(g, half, g.m() - half, 0, g.n())};
  return {part(g, 0, g.m(), 0, half), part(g, 0, g.m(), half, g.n() - half)};
}

/// Calls body(piece) for pieces of C of bounded working memory, by repeated halving.
template <class T, class S, class Body>
void for_each_piece(const Gemm<T, S>& g, bool partial, const Body& body) {
  if (is_piece(g, partial)) return body(g);
  const auto [first, second] = halves(g);
  for_each_piece(first, partial, body);
  for_each_piece(second, partial, body);
}

/// Calls body once per shape of a piece: shapes are few, pieces may be millions.
template <class T, class S, class Body>
void for_each_shape(const Gemm<T, S>& g, bool partial, const Body& body,
                    std::set<std::pair<index_t, index_t>>& seen) {
  if (!seen.emplace(g.m(), g.n()).second) return;
  if (is_piece(g, partial)) return body(g);
  const auto [first, second] = halves(g);
  for_each_shape(first, partial, body, seen);
  for_each_shape(second, partial, body, seen);
}

template <class T, class S>
index_t working_memory(const Gemm<T, S>& g, index_t leaf_count) {
  constexpr auto element = static_cast<index_t>(sizeof(T));
  if (g.c.empty() || g.k() == 0) return 0;
  const LeafKernels<T>& leaf = leaf_kernels<T>(machine::isa());
  const Leaves all = leaves<T>(g.k());
  const index_t chunk = std::min(chunk_length<T>, g.k());
  index_t most = 0;
  const auto look = [&](const Gemm<T, S>& piece) {
    const auto packs = Product<T, S>(piece, all, {0, 1}).packs();
    index_t elements = 0;
    if (packs.a) elements += round_up(piece.m(), leaf.mr) * chunk;
    if (packs.b) elements += round_up(piece.n(), leaf.nr) * chunk;
    for (index_t leaves = leaf_count; leaves > 1; leaves = left({0, leaves}).count)
      elements += piece.m() * piece.n();
    most = std::max(most, elements * element);
  };
  std::set<std::pair<index_t, index_t>> seen;
  for_each_shape(g, leaf_count > 1, look, seen);
  return most;
}

/// Returns whether the product is one chunk of operands so small that one thread computes it
/// unpacked.
template <class T>
bool is_small(const Gemm<T>& g) {
  return !is_complex<T> && g.m() <= direct && g.n() <= direct && g.k() <= chunk_length<T> &&
         g.op_b == Op::none && (machine::team() == 1 || g.m() * g.n() * g.k() < 500'000);
}

/// Computes a small product directly by the leaf: at n = 64 the recursion would cost a tenth of the
/// time.
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

/// Returns the neutral element of addition: x + it is x for every x, including -0.
template <class T>
T negative_zero() {
  if constexpr (is_complex<T>) {
    return {Real<T>{-0.0}, Real<T>{-0.0}};
  } else {
    return T{-0.0};
  }
}

template <class T, class S>
void subtree(const Gemm<T, S>& g, const Leaves& leaves, Subtree node) {
  TESSERA_EXPECTS(g.k() == leaves.begin(node.first + node.count) - leaves.begin(node.first));
  if (g.c.empty()) return;
  if (only_scales(g) && node.first > 0) return fill(g.c, negative_zero<T>());
  if (only_scales(g)) return scale(g.c, g.beta);
  for_each_piece(g, node.count > 1, [&](const Gemm<T, S>& piece) {
    Product<T, S>(piece, leaves, node).tree(node, piece.c, piece.beta);
  });
}

template <class T, class S>
void cache_oblivious(const Gemm<T, S>& g) {
  if constexpr (std::is_same_v<T, S>) {
    if (is_small(g) && !only_scales(g)) return multiply_in_place(g);
  }
  const Leaves all = leaves<T>(g.k());
  subtree(g, all, whole(all));
}

template <class T, class S>
void chain(const Gemm<T, S>& g) {
  if (g.c.empty()) return;
  if (only_scales(g)) return scale(g.c, g.beta);
  for_each_piece(g, false, [](const Gemm<T, S>& piece) {
    const Leaves all = leaves<T>(piece.k());
    Product<T, S>(piece, all, {0, 1}).chain(0, piece.k(), piece.c, piece.beta, {});
  });
}

template <class T>
void add(MatrixView<const T> value, MatrixView<T> into) {
  if (into.empty()) return;  // value may have no memory
  const LeafKernels<T>& leaf = leaf_kernels<T>(machine::isa());
  machine::parallel_for(0, into.rows, std::max<index_t>(1, 65536 / std::max<index_t>(1, into.cols)),
                        [&](index_t first, index_t last) {
                          for (index_t i = first; i < last; ++i)
                            leaf.add(&value(i, 0), &into(i, 0), into.cols);
                        });
}

}  // namespace tessera::inline v1::matmul
