#pragma once
// Assignment of the product's cuboids to ranks: pure arithmetic, the same on every rank, tested
// without a launcher.

#include <optional>
#include <vector>

#include "kernels/matmul/gemm.hpp"
#include "kernels/matmul/summation.hpp"
#include "layout/matrix_layout.hpp"

namespace tessera::inline v1::dist::matmul {

using tessera::matmul::Leaves;
using tessera::matmul::Op;
using tessera::matmul::Subtree;
using tessera::matmul::turns;

struct Extents {
  index_t rows = 0, cols = 0;
};
/// Returns the stored shape of a matrix that has rows x cols after op.
[[nodiscard]] constexpr Extents stored(Op op, index_t rows, index_t cols) {
  return turns(op) ? Extents{cols, rows} : Extents{rows, cols};
}

/// The part of the product that one rank computes: c[m, n] += op(a)[m, k] op(b)[k, n], k as whole
/// leaves.
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

/// One cuboid per rank; together they partition the product, or the part of it that makes a box of
/// c.
struct Plan {
  Shape shape;
  std::vector<Cuboid> cuboids;

  [[nodiscard]] const Cuboid& of(index_t rank) const {
    return cuboids[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] layout::Range k_range(const Cuboid& cuboid) const {
    return {shape.leaves.begin(cuboid.leaves.begin), shape.leaves.begin(cuboid.leaves.end)};
  }
  /// Returns the nodes of the summation tree that a rank computes: several if its leaves do not
  /// form one node.
  [[nodiscard]] std::vector<Subtree> nodes(const Cuboid& cuboid) const {
    return cuboid.empty() ? std::vector<Subtree>{}
                          : subtrees(whole(shape.leaves), cuboid.leaves.begin, cuboid.leaves.end);
  }
};

/// Return the box of a stored operand that every rank needs (for its part of k, or a range of it),
/// and the box of c of which it computes a part.
[[nodiscard]] layout::MatrixLayout a_layout(const Plan& plan, Op op);
[[nodiscard]] layout::MatrixLayout b_layout(const Plan& plan, Op op);
[[nodiscard]] layout::MatrixLayout a_layout(const Plan& plan, Op op,
                                            const std::vector<layout::Range>& k);
[[nodiscard]] layout::MatrixLayout b_layout(const Plan& plan, Op op,
                                            const std::vector<layout::Range>& k);
[[nodiscard]] layout::MatrixLayout c_layout(const Plan& plan);
/// Returns the boxes of c on the ranks that start from beta * c (those with leaf 0); empty on the
/// others.
[[nodiscard]] layout::MatrixLayout c_start_layout(const Plan& plan);

/// Ranges of k: [slice][rank].
using Slices = std::vector<std::vector<layout::Range>>;

/// Returns every rank's part of k in about `wanted` consecutive slices of whole chunks, those of a
/// leaf in order. Ranks traverse the summation tree from different sides, so that not all request
/// the same rows at once from the few ranks that own them. Empty ranges pad ranks with fewer
/// slices.
[[nodiscard]] Slices slices_of_k(const Plan& plan, index_t wanted);

/// Returns whether several ranks compute parts of the same box of c.
[[nodiscard]] bool splits_k(const Plan& plan);

/// Returns whether every rank accumulates in c's home: k is not split and each rank's box is at
/// home.
[[nodiscard]] bool grows_at_home(const Plan& plan, const layout::MatrixLayout& home);

/// 50 GFLOP/s of a core against 5 GB/s of 8-byte elements.
inline constexpr double core_flops_per_word = 80;

/// Granularity of cuts of m and n: whole vectors, whole cache lines.
inline constexpr index_t cut_granule = 8;

/// An operand that stays in memory.
enum class Held { a, b };

/// Relative costs in a plan.
struct Prices {
  double flops_per_word =
      core_flops_per_word;  ///< arithmetic that takes as long as receiving an element
  double a = 1;             ///< of an element of a, in words: less if read in shared memory
  double b = 1;             ///< of an element of b
  /// For rounds: k is cut last, so that ranks have equal or disjoint boxes of c, and no rank has
  /// much more of this operand than others.
  std::optional<Held> held = {};
};

/// Consecutive parts of a product, to save memory.
struct Rounds {
  index_t count = 1;
  Held held = Held::a;  ///< the operand that stays in memory; the other and c come in parts
  double price = 1;     ///< of its words when the plan is searched: the more, the less memory
};

/// Returns the uneven recursive plan (after CARMA, Demmel et al. 2013, with proportional cuts):
/// cuts the P ranks into two groups, not necessarily equal, and one of m, n, k in the same
/// proportion, recursively. Minimises the words and arithmetic of the worst rank and the words of
/// all ranks. Load imbalance up to 2 % is ignored: rounded cuts differ by as much and would
/// outweigh words. k is cut at leaves only, so that C has the bits of one rank, and preferably at
/// nodes of the summation tree, even if one group then has slightly more work. Weights are the
/// relative speeds of the ranks, above 0 in any unit; groups get work in proportion, and a rank
/// that is too slow for any part idles. Empty weights: all equal.
[[nodiscard]] Plan recursive_plan(const Shape& shape, index_t ranks,
                                  const std::vector<double>& weights = {},
                                  const Prices& prices = {});

/// Returns the number of searches of a recursive plan in this process, each some microseconds to
/// milliseconds; for tests.
[[nodiscard]] index_t plan_searches();

/// Matrices in memory that the ranks of one node share.
struct Seen {
  bool a = false, b = false, c = false;
  [[nodiscard]] constexpr bool all() const { return a && b && c; }
  [[nodiscard]] constexpr bool any() const { return a || b || c; }
};
inline constexpr Seen all_seen{true, true, true};

/// Layouts of operands and result.
struct Homes {
  layout::MatrixLayout a, b, c;
  Seen seen = {};
};

/// Returns the prices for these homes: reading shared memory costs less than messages.
[[nodiscard]] Prices prices_of(const Homes& homes, double flops_per_word,
                               const Rounds& rounds = {});

/// Returns the plans of consecutive rounds: each has a part of every rank's box of c, cut along n
/// if a is held, along m if b is, so that a rank needs all of that operand in every round and a
/// part of the other in each. Precondition: several rounds are of a plan with Prices::held, whose
/// ranks have equal or disjoint boxes of c.
[[nodiscard]] std::vector<Plan> in_rounds(Plan plan, const Rounds& rounds);

/// Returns the number of elements that a rank of the plan receives of operands not at home, and
/// sends of the result.
[[nodiscard]] index_t moved_elements(const Plan& plan, Op op_a, Op op_b, const Homes& homes,
                                     index_t rank);

/// Speeds of the ranks: recursive_plan's weights, and the arithmetic of the slowest rank in the
/// time of one received element.
struct Speeds {
  std::vector<double> weights = {};
  double flops_per_word = core_flops_per_word;
};
/// Returns the arithmetic and moved elements of the worst rank, in elements.
[[nodiscard]] double worst_cost(const Plan& plan, Op op_a, Op op_b, const Homes& homes,
                                const Speeds& speeds);

/// Returns the layout of a stored operand whose op(operand) has this layout.
[[nodiscard]] layout::MatrixLayout stored_layout(const layout::MatrixLayout& layout, Op op);

/// Returns the plan in which every rank computes its home box of c.
[[nodiscard]] Plan home_plan(const Shape& shape, const layout::MatrixLayout& home);

/// Returns the recursive plan, or the plan at home if that takes the worst rank less time: a result
/// that is large relative to k is not worth sending. Nothing is sent in shared memory.
[[nodiscard]] Plan choose_plan(const Shape& shape, Op op_a, Op op_b, const Homes& homes,
                               const Speeds& speeds = {});

/// As above, with a recursive plan made with prices_of(homes).
[[nodiscard]] Plan choose_plan(Plan recursive, Op op_a, Op op_b, const Homes& homes,
                               const Speeds& speeds);

/// Returns the rounds of choose_plan().
[[nodiscard]] std::vector<Plan> choose_plans(const Shape& shape, Op op_a, Op op_b,
                                             const Homes& homes, const Speeds& speeds,
                                             const Rounds& rounds);

/// Returns whether every rank needs the same of an operand in both rounds, so that it keeps it.
[[nodiscard]] bool keeps(Held operand, const Plan& round, const Plan& next);

/// Returns the rows of every rank's box in one of several strips, received one after the other.
[[nodiscard]] layout::MatrixLayout strip_of(const layout::MatrixLayout& need, index_t strip,
                                            index_t strips);

/// Returns SUMMA's panels of k, at least one: each within one leaf and one owner's part of a and of
/// b, at most `width` wide, cut at chunks.
[[nodiscard]] std::vector<layout::Range> summa_panels(const layout::BlockMap& k_of_a,
                                                      const layout::BlockMap& k_of_b,
                                                      const Leaves& leaves, index_t width);

}  // namespace tessera::inline v1::dist::matmul
