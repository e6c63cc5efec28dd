#pragma once
// The order in which the products along k are summed. It is a function of k and the element type
// alone, so the bits of C depend on no number of threads or ranks and on no split of m or n:
//
//   k:       | chunk | chunk | chunk | chunk | chunk | ...     chunks of chunk_length<T>, from k =
//   0 leaves:  |            leaf 0             | leaf 1 ...      runs of whole chunks: 1, 2, 4, ...
//   or 64 tree:            (leaf 0 + leaf 1) + (leaf 2 + leaf 3)     halves of halves, so that
//   ranks that share k
//                                                              evenly have whole nodes
//
// In a chunk every element is one chain of fma in the order of p, from zero. A chunk enters its
// leaf by c = fma(alpha, sum, c); the first one by c = fma(alpha, sum, beta * c), or c = alpha *
// sum where beta == 0. Leaf 0 starts from beta * c, the others from zero. Leaves are added along
// the tree. So k may be split among ranks at leaf boundaries (each rank computes `subtree`s, who
// owns C adds them along the tree) and walked panel by panel inside a leaf (`chain`), and the bits
// stay.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/index.hpp"

namespace tessera::matmul {

/// Elements of k summed in registers at a time, the same for every instruction set. 512: loading
/// and storing C is under 2 % of a micro-kernel's time, and a sliver of A (8 x 512) still fits the
/// first level.
template <class T>
inline constexpr index_t chunk_length = 512;

/// The leaves of [0, k).
class Leaves {
 public:
  constexpr Leaves(index_t k, index_t chunk)
      : k_(k),
        chunk_(chunk),
        chunks_(ceil_div(k, chunk)),
        count_(power_of_two(std::clamp(chunks_ / min_chunks, index_t{1}, max_leaves))) {}

  [[nodiscard]] constexpr index_t k() const { return k_; }
  [[nodiscard]] constexpr index_t chunk() const { return chunk_; }
  [[nodiscard]] constexpr index_t count() const { return count_; }
  /// Leaf l is [begin(l), begin(l + 1)); begin(count()) == k. Multiples of the chunk, except k.
  [[nodiscard]] constexpr index_t begin(index_t leaf) const {
    return std::min(k_, leaf * chunks_ / count_ * chunk_);
  }
  /// The leaf that begins at p, or -1: may k be split at p?
  [[nodiscard]] constexpr index_t at(index_t p) const {
    for (index_t leaf = 0; leaf <= count_; ++leaf) {
      if (begin(leaf) == p) return leaf;
    }
    return -1;
  }

  friend constexpr bool operator==(const Leaves&, const Leaves&) = default;

 private:
  static constexpr index_t min_chunks =
      4;  // a leaf costs one more pass over C: under 2 % of its arithmetic
  static constexpr index_t max_leaves =
      64;  // enough to split k among as many threads or ranks as will share a C

  static constexpr index_t power_of_two(index_t most) {
    return static_cast<index_t>(std::bit_floor(static_cast<std::uint64_t>(most)));
  }

  index_t k_;
  index_t chunk_;
  index_t chunks_;
  index_t count_;
};

template <class T>
[[nodiscard]] constexpr Leaves leaves(index_t k) {
  return {k, chunk_length<T>};
}

/// The leaves [first, first + count) as a node of the tree.
struct Subtree {
  index_t first = 0;
  index_t count = 1;
  friend constexpr bool operator==(const Subtree&, const Subtree&) = default;
};

[[nodiscard]] constexpr Subtree whole(const Leaves& leaves) { return {0, leaves.count()}; }

/// The halves of a node of at least two leaves; of any number of them, the left one is a power of
/// two.
[[nodiscard]] constexpr Subtree left(Subtree node) {
  return {node.first,
          static_cast<index_t>(std::bit_floor(static_cast<std::uint64_t>(node.count - 1)))};
}
[[nodiscard]] constexpr Subtree right(Subtree node) {
  const index_t half = left(node).count;
  return {node.first + half, node.count - half};
}

/// The fewest nodes of the tree under `node` that make up its leaves [begin, end), in order of
/// leaves.
[[nodiscard]] inline std::vector<Subtree> subtrees(Subtree node, index_t begin, index_t end) {
  if (end <= node.first || node.first + node.count <= begin) return {};
  if (begin <= node.first && node.first + node.count <= end) return {node};
  std::vector<Subtree> parts = subtrees(left(node), begin, end);
  const std::vector<Subtree> rest = subtrees(right(node), begin, end);
  parts.insert(parts.end(), rest.begin(), rest.end());
  return parts;
}

/// The sum of a node along the tree: take(part) for the parts that the caller has as values (in
/// order of leaves), add(value, value) for the others. A part is a value when is_part(part).
template <class IsPart, class Take, class Add>
auto combine(Subtree node, const IsPart& is_part, const Take& take, const Add& add)
    -> decltype(take(node)) {
  if (is_part(node)) return take(node);
  auto sum = combine(left(node), is_part, take, add);
  return add(std::move(sum), combine(right(node), is_part, take, add));
}

}  // namespace tessera::matmul
