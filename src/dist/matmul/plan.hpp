#pragma once
// Who multiplies what: pure arithmetic, the same on every rank, tested without a launcher.

#include <vector>

#include "kernels/matmul/gemm.hpp"
#include "kernels/matmul/summation.hpp"
#include "layout/matrix_layout.hpp"

namespace tessera::dist::matmul {

using tessera::matmul::Leaves;
using tessera::matmul::Op;
using tessera::matmul::Subtree;
using tessera::matmul::turns;

struct Extents {
  index_t rows = 0, cols = 0;
};
/// A matrix of that shape after op, as it is stored.
[[nodiscard]] constexpr Extents stored(Op op, index_t rows, index_t cols) {
  return turns(op) ? Extents{cols, rows} : Extents{rows, cols};
}

/// The part of the product that one rank computes: c[m, n] += op(a)[m, k] op(b)[k, n], k given by
/// whole leaves.
struct Cuboid {
  layout::Range m;
  layout::Range n;
  layout::Range leaves;
  [[nodiscard]] bool empty() const { return m.empty() || n.empty() || leaves.empty(); }
};

/// m x n x k and the fixed order of summation along k.
struct Shape {
  index_t m = 0;
  index_t n = 0;
  Leaves leaves{0, 1};
  [[nodiscard]] index_t k() const { return leaves.k(); }
  friend bool operator==(const Shape&, const Shape&) = default;
};

/// A cuboid a rank, together exactly the whole product, or all of it that makes a box of c.
struct Plan {
  Shape shape;
  std::vector<Cuboid> cuboids;

  [[nodiscard]] const Cuboid& of(index_t rank) const {
    return cuboids[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] layout::Range k_range(const Cuboid& cuboid) const {
    return {shape.leaves.begin(cuboid.leaves.begin), shape.leaves.begin(cuboid.leaves.end)};
  }
  /// The nodes of the summation tree that a rank computes: one, unless its leaves are no node of
  /// the tree.
  [[nodiscard]] std::vector<Subtree> nodes(const Cuboid& cuboid) const {
    return cuboid.empty() ? std::vector<Subtree>{}
                          : subtrees(whole(shape.leaves), cuboid.leaves.begin, cuboid.leaves.end);
  }
};

/// Which box of the stored operands every rank needs (for its part of k, or a range of it), and
/// which box of c it computes (part of).
[[nodiscard]] layout::MatrixLayout a_layout(const Plan& plan, Op op);
[[nodiscard]] layout::MatrixLayout b_layout(const Plan& plan, Op op);
[[nodiscard]] layout::MatrixLayout a_layout(const Plan& plan, Op op,
                                            const std::vector<layout::Range>& k);
[[nodiscard]] layout::MatrixLayout b_layout(const Plan& plan, Op op,
                                            const std::vector<layout::Range>& k);
[[nodiscard]] layout::MatrixLayout c_layout(const Plan& plan);
/// The boxes of c on the ranks that start from beta * c (those with leaf 0); empty elsewhere.
[[nodiscard]] layout::MatrixLayout c_start_layout(const Plan& plan);

/// Ranges of k: [slice][rank].
using Slices = std::vector<std::vector<layout::Range>>;

/// Every rank's part of k in slices, one after the other: about `wanted`, of whole chunks, those of
/// a leaf in their order. But ranks walk the summation tree from different sides, so that not all
/// of them want the same rows at the same time from the few ranks that have them. Empty where
/// others have more slices.
[[nodiscard]] Slices slices_of_k(const Plan& plan, index_t wanted);

/// Whether parts of the same box of c are computed by several ranks.
[[nodiscard]] bool splits_k(const Plan& plan);

/// Whether every rank's values grow in c's home itself: no k is split and what a rank computes
/// lives there.
[[nodiscard]] bool grows_at_home(const Plan& plan, const layout::MatrixLayout& home);

/// 50 GFLOP/s of a core against 5 GB/s of 8-byte elements.
inline constexpr double core_flops_per_word = 80;

/// Cuts of m and n fall on multiples of it: whole vectors, whole cache lines.
inline constexpr index_t cut_granule = 8;

/// What a plan weighs against each other.
struct Prices {
  double flops_per_word =
      core_flops_per_word;  ///< arithmetic that takes as long as receiving an element
  double operand = 1;  ///< of an element of a or b, in words: less where it is read where it lies
};

/// The uneven recursive plan (after CARMA, Demmel et al. 2013, with proportional cuts): P ranks are
/// cut in two groups, not necessarily equal, and one of m, n, k in the same proportion,
/// recursively; of such cuts the ones with the least words and arithmetic of the worst rank and
/// words of all. Arithmetic up to 2 % above an even share counts as even: rounded cuts differ by as
/// much, and would outweigh words. k is cut at leaves only, so that C's bits are those of one rank,
/// and best at nodes of the summation tree, even if one of the groups then has a little more to do.
/// Weights: how fast the ranks multiply, in any unit above 0; groups take in proportion to theirs,
/// and a rank that is too slow for any part idles. None: all are alike.
[[nodiscard]] Plan recursive_plan(const Shape& shape, index_t ranks,
                                  const std::vector<double>& weights = {},
                                  const Prices& prices = {});

/// How often this process has searched a recursive plan, each some microseconds to milliseconds:
/// for tests.
[[nodiscard]] index_t plan_searches();

/// Which matrices every rank sees, because they lie in memory that the ranks of one node share.
struct Seen {
  bool a = false, b = false, c = false;
  [[nodiscard]] constexpr bool all() const { return a && b && c; }
  [[nodiscard]] constexpr bool any() const { return a || b || c; }
};
inline constexpr Seen all_seen{true, true, true};

/// Where operands and result live.
struct Homes {
  layout::MatrixLayout a, b, c;
  Seen seen = {};
};

/// What a plan weighs where operands and result live there: memory that ranks see costs less than
/// messages.
[[nodiscard]] Prices prices_of(const Homes& homes, double flops_per_word);

/// The elements that a rank of the plan receives of operands that are not at home with it, and
/// gives away of the result.
[[nodiscard]] index_t moved_elements(const Plan& plan, Op op_a, Op op_b, const Homes& homes,
                                     index_t rank);

/// How fast ranks multiply: recursive_plan's weights, and what the slowest does while an element
/// comes.
struct Speeds {
  std::vector<double> weights = {};
  double flops_per_word = core_flops_per_word;
};
/// Arithmetic and moved elements of the worst rank, in elements.
[[nodiscard]] double worst_cost(const Plan& plan, Op op_a, Op op_b, const Homes& homes,
                                const Speeds& speeds);

/// Every rank computes its home box of c.
[[nodiscard]] Plan home_plan(const Shape& shape, const layout::MatrixLayout& home);

/// The recursive plan, or the plan at home where that takes the worst rank less time: a result that
/// is large for its k is not worth its journey. Nothing has to travel where memory is shared.
[[nodiscard]] Plan choose_plan(const Shape& shape, Op op_a, Op op_b, const Homes& homes,
                               const std::vector<double>& weights = {},
                               double flops_per_word = core_flops_per_word);

/// The same of a recursive plan that was made with prices_of(homes).
[[nodiscard]] Plan choose_plan(Plan recursive, Op op_a, Op op_b, const Homes& homes,
                               const Speeds& speeds);

/// The same in so many rounds, a power of two, one after the other: each makes a box of c, halves
/// of halves, with its own recursive plan. A rank then holds less at a time, and receives more in
/// all. One: choose_plan.
[[nodiscard]] std::vector<Plan> choose_plans(const Shape& shape, Op op_a, Op op_b,
                                             const Homes& homes, const std::vector<double>& weights,
                                             double flops_per_word, index_t rounds);

/// Summa's panels of k, at least one: each inside one leaf and inside one owner's part of a and of
/// b, at most `width` wide, cut at chunks.
[[nodiscard]] std::vector<layout::Range> summa_panels(const layout::BlockMap& k_of_a,
                                                      const layout::BlockMap& k_of_b,
                                                      const Leaves& leaves, index_t width);

}  // namespace tessera::dist::matmul
