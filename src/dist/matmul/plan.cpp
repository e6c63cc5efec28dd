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

/// Neighbouring ranks.
struct Group {
  index_t first = 0, ranks = 0;
};

struct Choice {
  Cut cut = Cut::none;
  index_t first_ranks = 0;  // in the first group
  double cost = 0;          // of the worst rank, in words
};

/// Searches the best way to cut a part of the product for a number of ranks, each distinct part once.
class Planner {
 public:
  /// Of all ranks, by weight; the slowest one is what flops_per_word is about.
  Planner(const Shape& shape, const std::vector<double>& weights) : shape_(shape), weights_(weights) {
    const auto [least, most] = std::minmax_element(weights.begin(), weights.end());
    alike_ = *least == *most;
    const double unit = *least;
    for (double& weight : weights_) weight = alike_ ? 1 : weight / unit;
    sums_.push_back(0);
    for (const double weight : weights_) sums_.push_back(sums_.back() + weight);
  }

  void assign(const Cuboid& part, Group group, std::vector<Cuboid>& out) {
    const Choice choice = best(part, group);
    if (choice.cut == Cut::none) {  // nothing left to cut: all but one idle
      out.resize(out.size() + static_cast<std::size_t>(group.ranks));
      *(out.end() - group.ranks + fastest(group)) = part;
      return;
    }
    const auto [of_first, of_second] = split(group, choice.first_ranks);
    const auto [first, second] = halves(part, choice.cut, of_first, group);
    assign(first, of_first, out);
    assign(second, of_second, out);
  }

 private:
  using Key = std::tuple<index_t, index_t, index_t, index_t, index_t, index_t>;

  static std::pair<Group, Group> split(Group group, index_t p1) {
    return {{group.first, p1}, {group.first + p1, group.ranks - p1}};
  }
  [[nodiscard]] double weight(Group group) const {
    return sums_[static_cast<std::size_t>(group.first + group.ranks)] -
           sums_[static_cast<std::size_t>(group.first)];
  }
  /// Counted from the group's first.
  [[nodiscard]] index_t fastest(Group group) const {
    const auto begin = weights_.begin() + group.first;
    return std::max_element(begin, begin + group.ranks) - begin;
  }

  /// Of the whole part on the fastest rank.
  double single_cost(const Cuboid& part, Group group) const {
    const auto m = static_cast<double>(part.m.size()), n = static_cast<double>(part.n.size());
    const auto k =
        static_cast<double>(shape_.leaves.begin(part.leaves.end) - shape_.leaves.begin(part.leaves.begin));
    const bool all_of_k = part.leaves.size() == shape_.leaves.count();
    const double partial =
        all_of_k ? 0
                 : static_cast<double>(node_count(whole(shape_.leaves), part.leaves.begin, part.leaves.end));
    const double speed = weights_[static_cast<std::size_t>(group.first + fastest(group))];
    return m * k + k * n + partial * m * n + 2 * m * n * k / (flops_per_word * speed);
  }

  /// subtrees(node, begin, end).size()
  static index_t node_count(Subtree node, index_t begin, index_t end) {
    if (end <= node.first || node.first + node.count <= begin) return 0;
    if (begin <= node.first && node.first + node.count <= end) return 1;
    return node_count(left(node), begin, end) + node_count(right(node), begin, end);
  }

  static Range cut_range(Range range, double w1, double w, index_t unit, bool first) {
    const double share = static_cast<double>(range.size()) * w1 / w;
    const index_t units = static_cast<index_t>(share / static_cast<double>(unit) + 0.5);
    const index_t at = std::clamp(range.begin + units * unit, range.begin, range.end);
    return first ? Range{range.begin, at} : Range{at, range.end};
  }

  /// The leaf at which to cut k: of those within 3 % of the proportional place the one with the fewest nodes
  /// of the summation tree on both sides, since every node travels as a C of its own.
  index_t leaf_cut(Range leaves, double w1, double w) const {
    const double ideal = static_cast<double>(leaves.begin) + static_cast<double>(leaves.size()) * w1 / w;
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

  std::pair<Cuboid, Cuboid> halves(const Cuboid& part, Cut cut, Group of_first, Group group) const {
    const double w1 = weight(of_first), w = weight(group);
    Cuboid first = part, second = part;
    if (cut == Cut::m) {
      first.m = cut_range(part.m, w1, w, granule, true);
      second.m = cut_range(part.m, w1, w, granule, false);
    } else if (cut == Cut::n) {
      first.n = cut_range(part.n, w1, w, granule, true);
      second.n = cut_range(part.n, w1, w, granule, false);
    } else {
      const index_t at = leaf_cut(part.leaves, w1, w);
      first.leaves.end = second.leaves.begin = at;
    }
    return {first, second};
  }

  /// Ranks of the first group so that both weigh as nearly the same as may be.
  [[nodiscard]] index_t half(Group group) const {
    if (alike_) return group.ranks / 2;
    const double middle = sums_[static_cast<std::size_t>(group.first)] + weight(group) / 2;
    index_t best = 1;
    for (index_t p1 = 2; p1 < group.ranks; ++p1) {
      const auto distance = [&](index_t p) {
        return std::abs(sums_[static_cast<std::size_t>(group.first + p)] - middle);
      };
      if (distance(p1) < distance(best)) best = p1;
    }
    return best;
  }

  [[nodiscard]] std::vector<index_t> group_sizes(Group group) const {
    const index_t ranks = group.ranks;
    if (ranks > most_searched) return {half(group)};
    std::vector<index_t> sizes{half(group)};
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

  Choice best(const Cuboid& part, Group group) {
    if (group.ranks == 1 || part.empty()) return {Cut::none, 0, single_cost(part, group)};
    const Key key{part.m.size(), part.n.size(), part.leaves.begin, part.leaves.end, alike_ ? 0 : group.first,
                  group.ranks};
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
    Choice choice{Cut::none, 0, single_cost(part, group)};  // leaving the other ranks idle
    for (const index_t p1 : group_sizes(group)) {
      for (const Cut cut : promising_cuts(part)) {
        const auto [of_first, of_second] = split(group, p1);
        const auto [first, second] = halves(part, cut, of_first, group);
        if (first.empty() || second.empty()) continue;
        const double cost = std::max(best(first, of_first).cost, best(second, of_second).cost);
        if (cost < choice.cost * (1 - 1e-9)) choice = {cut, p1, cost};
      }
    }
    known_.emplace(key, choice);
    return choice;
  }

  Shape shape_;
  std::vector<double> weights_, sums_;  // sums_[r]: of the ranks before r
  bool alike_ = true;
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

Plan recursive_plan(const Shape& shape, index_t ranks, const std::vector<double>& weights) {
  TESSERA_EXPECTS(weights.empty() || static_cast<index_t>(weights.size()) == ranks);
  Plan plan{shape, {}};
  const Cuboid all{{0, shape.m}, {0, shape.n}, {0, shape.leaves.count()}};
  const std::vector<double> alike(static_cast<std::size_t>(ranks), 1);
  Planner(shape, weights.empty() ? alike : weights).assign(all, {0, ranks}, plan.cuboids);
  return plan;
}

index_t moved_elements(const Plan& plan, Op op_a, Op op_b, const Homes& homes, index_t rank) {
  const Cuboid& mine = plan.of(rank);
  if (mine.empty()) return 0;
  const auto away = [&](const Box& need, const MatrixLayout& home) {
    return need.area() - intersect(need, home.of(rank)).area();
  };
  const Box a{mine.m, plan.k_range(mine)}, b{plan.k_range(mine), mine.n}, c{mine.m, mine.n};
  const auto nodes = static_cast<index_t>(plan.nodes(mine).size());
  return away(turns(op_a) ? transposed(a) : a, homes.a) + away(turns(op_b) ? transposed(b) : b, homes.b) +
         nodes * away(c, homes.c);
}

Plan home_plan(const Shape& shape, const MatrixLayout& home) {
  Plan plan{shape, {}};
  for (const Box& box : home.boxes) plan.cuboids.push_back({box.rows, box.cols, {0, shape.leaves.count()}});
  return plan;
}

Plan choose_plan(const Shape& shape, Op op_a, Op op_b, const Homes& homes,
                 const std::vector<double>& weights) {
  const index_t ranks = homes.c.ranks();
  Plan recursive = recursive_plan(shape, ranks, weights);
  if (homes.shared || ranks == 1 || shape.m == 0 || shape.n == 0) return recursive;
  Plan at_home = home_plan(shape, homes.c);
  const double slowest = weights.empty() ? 1 : *std::min_element(weights.begin(), weights.end());
  const auto cost = [&](const Plan& plan) {  // of the worst rank, in words
    double worst = 0;
    for (index_t rank = 0; rank < ranks; ++rank) {
      const Cuboid& c = plan.of(rank);
      const double speed = weights.empty() ? 1 : weights[static_cast<std::size_t>(rank)] / slowest;
      const double products = static_cast<double>(c.m.size()) * static_cast<double>(c.n.size()) *
                              static_cast<double>(plan.k_range(c).size());
      worst = std::max(worst, 2 * products / (flops_per_word * speed) +
                                  static_cast<double>(moved_elements(plan, op_a, op_b, homes, rank)));
    }
    return worst;
  };
  return cost(at_home) < cost(recursive) ? at_home : recursive;
}

bool splits_k(const Plan& plan) {
  return !std::all_of(plan.cuboids.begin(), plan.cuboids.end(), [&](const Cuboid& c) {
    return c.empty() || c.leaves.size() == plan.shape.leaves.count();
  });
}

bool grows_at_home(const Plan& plan, const MatrixLayout& home) {
  for (index_t rank = 0; rank < home.ranks(); ++rank) {
    const Cuboid& mine = plan.of(rank);
    const Box& box = home.of(rank);
    if (mine.empty() ? !box.empty() : !(Box{mine.m, mine.n} == box)) return false;
  }
  return !splits_k(plan);
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
