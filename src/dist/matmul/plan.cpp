#include "dist/matmul/plan.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <tuple>

namespace tessera::dist::matmul {
namespace {

using layout::Box;
using layout::MatrixLayout;
using layout::Range;

// Arithmetic that takes as long as receiving one element: 50 GFLOP/s against 5 GB/s of 8-byte elements. Only
// the ratio matters, and only where a cut trades balance for words.
constexpr double flops_per_word = 80;
constexpr index_t granule = 8;  // cuts of m and n fall on multiples of it: whole vectors, whole cache lines

constexpr index_t most_searched =
    31;  // ranks; beyond, groups are halves: the search stays under 50 ms at 127 ranks

enum class Cut { none, m, n, k };

struct Choice {
  Cut cut = Cut::none;
  index_t first_ranks = 0;  // in the first group
  double cost = 0;          // of the worst rank, in words
};

/// Searches the best way to cut a part of the product for a number of ranks, each distinct part once.
class Planner {
 public:
  explicit Planner(const Shape& shape) : shape_(shape) {}

  void assign(const Cuboid& part, index_t ranks, std::vector<Cuboid>& out) {
    const Choice choice = best(part, ranks);
    if (choice.cut == Cut::none) {
      out.push_back(part);
      out.resize(out.size() + static_cast<std::size_t>(ranks - 1));  // nothing left to cut: the others idle
      return;
    }
    const auto [first, second] = halves(part, choice.cut, choice.first_ranks, ranks);
    assign(first, choice.first_ranks, out);
    assign(second, ranks - choice.first_ranks, out);
  }

 private:
  using Key = std::tuple<index_t, index_t, index_t, index_t, index_t>;

  double single_cost(const Cuboid& part) const {
    const auto m = static_cast<double>(part.m.size()), n = static_cast<double>(part.n.size());
    const auto k =
        static_cast<double>(shape_.leaves.begin(part.leaves.end) - shape_.leaves.begin(part.leaves.begin));
    const bool all_of_k = part.leaves.size() == shape_.leaves.count();
    const double partial =
        all_of_k ? 0
                 : static_cast<double>(node_count(whole(shape_.leaves), part.leaves.begin, part.leaves.end));
    return m * k + k * n + partial * m * n + 2 * m * n * k / flops_per_word;
  }

  /// subtrees(node, begin, end).size()
  static index_t node_count(Subtree node, index_t begin, index_t end) {
    if (end <= node.first || node.first + node.count <= begin) return 0;
    if (begin <= node.first && node.first + node.count <= end) return 1;
    return node_count(left(node), begin, end) + node_count(right(node), begin, end);
  }

  static Range cut_range(Range range, index_t p1, index_t p, index_t unit, bool first) {
    const auto share = static_cast<double>(range.size()) * static_cast<double>(p1) / static_cast<double>(p);
    const index_t units = static_cast<index_t>(share / static_cast<double>(unit) + 0.5);
    const index_t at = std::clamp(range.begin + units * unit, range.begin, range.end);
    return first ? Range{range.begin, at} : Range{at, range.end};
  }

  /// The leaf at which to cut k: of those within 3 % of the proportional place the one with the fewest nodes
  /// of the summation tree on both sides, since every node travels as a C of its own.
  index_t leaf_cut(Range leaves, index_t p1, index_t p) const {
    const double ideal = static_cast<double>(leaves.begin) + static_cast<double>(leaves.size()) *
                                                                 static_cast<double>(p1) /
                                                                 static_cast<double>(p);
    const double slack = std::max(0.5, 0.03 * static_cast<double>(leaves.size()));
    index_t best_leaf = leaves.begin;
    index_t fewest = std::numeric_limits<index_t>::max();
    for (index_t leaf = leaves.begin + 1; leaf < leaves.end; ++leaf) {
      if (std::abs(static_cast<double>(leaf) - ideal) > slack) continue;
      const Subtree root = whole(shape_.leaves);
      const index_t nodes = node_count(root, leaves.begin, leaf) + node_count(root, leaf, leaves.end);
      if (nodes < fewest) {
        fewest = nodes;
        best_leaf = leaf;
      }
    }
    return best_leaf;
  }

  std::pair<Cuboid, Cuboid> halves(const Cuboid& part, Cut cut, index_t p1, index_t p) const {
    Cuboid first = part, second = part;
    if (cut == Cut::m) {
      first.m = cut_range(part.m, p1, p, granule, true);
      second.m = cut_range(part.m, p1, p, granule, false);
    } else if (cut == Cut::n) {
      first.n = cut_range(part.n, p1, p, granule, true);
      second.n = cut_range(part.n, p1, p, granule, false);
    } else {
      const index_t at = leaf_cut(part.leaves, p1, p);
      first.leaves.end = second.leaves.begin = at;
    }
    return {first, second};
  }

  static std::vector<index_t> group_sizes(index_t ranks) {
    if (ranks > most_searched) return {ranks / 2};
    std::vector<index_t> sizes{ranks / 2};
    if (ranks > 2) sizes.push_back(std::max<index_t>(1, ranks / 3));
    for (const index_t prime : {3, 5, 7}) {
      if (ranks > prime && ranks % prime == 0) sizes.push_back(ranks / prime);
    }
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    return sizes;
  }

  /// The dimensions that can be cut and are at least half as long as the longest of those: a cuboid with a
  /// side beyond that is never part of a plan with few words, and leaving such cuts out keeps the search
  /// short.
  std::vector<Cut> promising_cuts(const Cuboid& part) const {
    const auto k = shape_.leaves.begin(part.leaves.end) - shape_.leaves.begin(part.leaves.begin);
    const std::pair<Cut, index_t> sides[] = {{Cut::m, part.m.size() > granule ? part.m.size() : 0},
                                             {Cut::n, part.n.size() > granule ? part.n.size() : 0},
                                             {Cut::k, part.leaves.size() > 1 ? k : 0}};
    index_t longest = 1;
    for (const auto& [cut, side] : sides) longest = std::max(longest, side);
    std::vector<Cut> result;
    for (const auto& [cut, side] : sides) {
      if (2 * side >= longest) result.push_back(cut);
    }
    return result;
  }

  Choice best(const Cuboid& part, index_t ranks) {
    if (ranks == 1 || part.empty()) return {Cut::none, 0, single_cost(part)};
    const Key key{part.m.size(), part.n.size(), part.leaves.begin, part.leaves.end, ranks};
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
    Choice choice{Cut::none, 0, single_cost(part)};  // leaving the other ranks idle
    for (const index_t p1 : group_sizes(ranks)) {
      for (const Cut cut : promising_cuts(part)) {
        const auto [first, second] = halves(part, cut, p1, ranks);
        if (first.empty() || second.empty()) continue;
        const double cost = std::max(best(first, p1).cost, best(second, ranks - p1).cost);
        if (cost < choice.cost * (1 - 1e-9)) choice = {cut, p1, cost};
      }
    }
    known_.emplace(key, choice);
    return choice;
  }

  Shape shape_;
  std::map<Key, Choice> known_;
};

template <class BoxOf>
MatrixLayout layout_of(const Plan& plan, index_t rows, index_t cols, const BoxOf& box_of) {
  MatrixLayout result{rows, cols, {}};
  for (const Cuboid& cuboid : plan.cuboids) result.boxes.push_back(cuboid.empty() ? Box{} : box_of(cuboid));
  return result;
}

MatrixLayout operand_layout(MatrixLayout layout, Op op) {
  if (op == Op::none) return layout;
  std::swap(layout.rows, layout.cols);
  for (Box& box : layout.boxes) box = transposed(box);
  return layout;
}

}  // namespace

MatrixLayout a_layout(const Plan& plan, Op op) {
  return operand_layout(layout_of(plan, plan.shape.m, plan.shape.k(),
                                  [&](const Cuboid& c) {
                                    return Box{c.m, plan.k_range(c)};
                                  }),
                        op);
}

MatrixLayout b_layout(const Plan& plan, Op op) {
  return operand_layout(layout_of(plan, plan.shape.k(), plan.shape.n,
                                  [&](const Cuboid& c) {
                                    return Box{plan.k_range(c), c.n};
                                  }),
                        op);
}

MatrixLayout c_layout(const Plan& plan) {
  return layout_of(plan, plan.shape.m, plan.shape.n, [](const Cuboid& c) { return Box{c.m, c.n}; });
}

MatrixLayout c_start_layout(const Plan& plan) {
  return layout_of(plan, plan.shape.m, plan.shape.n, [](const Cuboid& c) {
    return c.leaves.begin == 0 ? Box{c.m, c.n} : Box{};
  });
}

Plan recursive_plan(const Shape& shape, index_t ranks) {
  Plan plan{shape, {}};
  const Cuboid all{{0, shape.m}, {0, shape.n}, {0, shape.leaves.count()}};
  Planner(shape).assign(all, ranks, plan.cuboids);
  return plan;
}

Plan row_plan(const Shape& shape, index_t ranks) {
  Plan plan{shape, {}};
  const layout::BlockMap rows(shape.m, ranks);
  for (index_t r = 0; r < ranks; ++r) {
    plan.cuboids.push_back({rows.range(r), {0, shape.n}, {0, shape.leaves.count()}});
  }
  return plan;
}

bool grows_at_home(const Plan& plan, const MatrixLayout& home) {
  return c_layout(plan) == home &&
         std::all_of(plan.cuboids.begin(), plan.cuboids.end(), [&](const Cuboid& c) {
           return c.empty() || c.leaves.size() == plan.shape.leaves.count();
         });
}

std::vector<Range> summa_panels(const layout::BlockMap& k_of_a, const layout::BlockMap& k_of_b,
                                const Leaves& leaves, index_t width) {
  std::vector<index_t> cuts = k_of_a.offsets();
  const auto more = k_of_b.offsets();
  cuts.insert(cuts.end(), more.begin(), more.end());
  const index_t step = round_up(std::max<index_t>(width, 1), leaves.chunk());
  for (index_t leaf = 0; leaf < leaves.count(); ++leaf) {
    for (index_t p = leaves.begin(leaf); p < leaves.begin(leaf + 1); p += step) cuts.push_back(p);
  }
  cuts.push_back(leaves.k());
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::vector<Range> panels;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) panels.push_back({cuts[i], cuts[i + 1]});
  if (panels.empty()) panels.push_back({0, 0});  // k == 0: c = beta * c still happens
  return panels;
}

}  // namespace tessera::dist::matmul
