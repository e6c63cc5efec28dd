#pragma once
// The summation order along k. It is a function of k and the element type alone, so the bits of C
// are independent of the numbers of threads and ranks and of the splits of m and n:
//
//   k:       | chunk | chunk | chunk | chunk | chunk | ...  chunks of chunk_length<T> from k = 0
//   leaves:  |            leaf 0             | leaf 1 ...    whole chunks: 1, 2, 4, ... or 64
//   tree:            (leaf 0 + leaf 1) + (leaf 2 + leaf 3)   halves of halves, so that ranks that
//                                                            share k evenly have whole nodes
//
// Within a chunk every element is one chain of fma in the order of p, from zero. A chunk is added
// to its leaf by c = fma(alpha, sum, c); the first one by c = fma(alpha, sum, beta * c), or c =
// alpha * sum if beta == 0. Leaf 0 starts from beta * c, the others from zero. Leaves are added
// along the tree (pairwise summation). So ranks may split k at leaf boundaries (each computes
// `subtree`s, and the owner of C adds them along the tree) and walk it panel by panel inside a leaf
// (`chain`) with the same bits.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/index.hpp"

namespace tessera::inline v1::matmul {

/// Elements of k summed in registers, the same for every instruction set. 512: loads and stores of
/// C are under 2 % of a micro-kernel's time, and a sliver of A (8 x 512) still fits the first-level
/// cache.
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
  /// Returns the start of a leaf: leaf l is [begin(l), begin(l + 1)), and begin(count()) == k. All
  /// are multiples of the chunk, except k.
  [[nodiscard]] constexpr index_t begin(index_t leaf) const {
    return std::min(k_, leaf * chunks_ / count_ * chunk_);
  }
  /// Returns the leaf that begins at p, or -1 if k must not be split at p.
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
  static constexpr index_t max_leaves = 64;  // enough for all threads or ranks that share a C

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

/// Returns the left half of a node of at least two leaves, of a power of two leaves for any number
/// of them; right() returns the rest.
[[nodiscard]] constexpr Subtree left(Subtree node) {
  return {node.first,
          static_cast<index_t>(std::bit_floor(static_cast<std::uint64_t>(node.count - 1)))};
}
[[nodiscard]] constexpr Subtree right(Subtree node) {
  const index_t half = left(node).count;
  return {node.first + half, node.count - half};
}

/// Returns the fewest nodes of the tree under `node` that cover its leaves [begin, end), in order
/// of leaves.
[[nodiscard]] inline std::vector<Subtree> subtrees(Subtree node, index_t begin, index_t end) {
  if (end <= node.first || node.first + node.count <= begin) return {};
  if (begin <= node.first && node.first + node.count <= end) return {node};
  std::vector<Subtree> parts = subtrees(left(node), begin, end);
  const std::vector<Subtree> rest = subtrees(right(node), begin, end);
  parts.insert(parts.end(), rest.begin(), rest.end());
  return parts;
}

/// Returns the sum of a node along the tree: take(part) for the parts that the caller has as values
/// (in order of leaves), add(value, value) for the others. A part is a value when is_part(part).
template <class IsPart, class Take, class Add>
auto combine(Subtree node, const IsPart& is_part, const Take& take, const Add& add)
    -> decltype(take(node)) {
  if (is_part(node)) return take(node);
  auto sum = combine(left(node), is_part, take, add);
  return add(std::move(sum), combine(right(node), is_part, take, add));
}

}  // namespace tessera::inline v1::matmul
