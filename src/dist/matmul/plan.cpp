// Layouts, slices, rounds and panels of a plan; pure arithmetic.

#include "dist/matmul/plan.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace tessera::inline v1::dist::matmul {
namespace {

using layout::Box;
using layout::MatrixLayout;
using layout::Range;

template <class BoxOf>
MatrixLayout layout_of(const Plan& plan, index_t rows, index_t cols, const BoxOf& box_of) {
  MatrixLayout result{rows, cols, {}};
  for (std::size_t rank = 0; rank < plan.cuboids.size(); ++rank)
    result.boxes.push_back(plan.cuboids[rank].empty() ? Box{} : box_of(rank, plan.cuboids[rank]));
  return result;
}

std::vector<Range> parts_of_k(const Plan& plan) {
  std::vector<Range> parts;
  for (const Cuboid& cuboid : plan.cuboids) parts.push_back(plan.k_range(cuboid));
  return parts;
}

/// The order in which a rank visits its leaves.
struct SliceWalk {
  Leaves leaves;
  std::size_t rank;
  index_t wanted;  // slices
  index_t mine;    // leaves

  void go(Subtree node, int depth, std::vector<Range>& slices) const {
    if (node.count > 1 && node.count * wanted > mine) {
      go(turned(depth) ? right(node) : left(node), depth + 1, slices);
      go(turned(depth) ? left(node) : right(node), depth + 1, slices);
      return;
    }
    const index_t begin = leaves.begin(node.first), end = leaves.begin(node.first + node.count);
    const index_t chunks = ceil_div(end - begin, leaves.chunk());
    const index_t parts =
        node.count > 1 ? 1 : std::clamp<index_t>(wanted / mine, 1, std::max<index_t>(chunks, 1));
    const auto cut = [&](index_t part) {
      return std::min(end, begin + part * chunks / parts * leaves.chunk());
    };
    for (index_t part = 0; part < parts; ++part) slices.push_back({cut(part), cut(part + 1)});
  }

  /// Returns whether to visit the right half first. Ranks 1, 2, 4, ... apart differ, and four such
  /// ranks differ within two levels.
  [[nodiscard]] bool turned(int depth) const {
    constexpr std::array<std::size_t, 3> bits{~std::size_t{0}, 0xAAAAAAAA, 0xCCCCCCCC};
    return std::popcount(rank & bits[static_cast<std::size_t>(depth) % bits.size()]) % 2 != 0;
  }
};

}  // namespace

MatrixLayout a_layout(const Plan& plan, Op op) { return a_layout(plan, op, parts_of_k(plan)); }
MatrixLayout b_layout(const Plan& plan, Op op) { return b_layout(plan, op, parts_of_k(plan)); }

MatrixLayout a_layout(const Plan& plan, Op op, const std::vector<Range>& k) {
  return stored_layout(layout_of(plan, plan.shape.m, plan.shape.k(),
                                 [&](std::size_t rank, const Cuboid& c) {
                                   return Box{c.m, k[rank]};
                                 }),
                       op);
}

MatrixLayout b_layout(const Plan& plan, Op op, const std::vector<Range>& k) {
  return stored_layout(layout_of(plan, plan.shape.k(), plan.shape.n,
                                 [&](std::size_t rank, const Cuboid& c) {
                                   return Box{k[rank], c.n};
                                 }),
                       op);
}

Slices slices_of_k(const Plan& plan, index_t wanted) {
  if (wanted <= 1) return {parts_of_k(plan)};
  std::vector<std::vector<Range>> of_ranks;
  std::size_t most = 0;
  for (std::size_t rank = 0; rank < plan.cuboids.size(); ++rank) {
    const Cuboid& mine = plan.cuboids[rank];
    std::vector<Range>& slices = of_ranks.emplace_back();
    const SliceWalk walk{plan.shape.leaves, rank, wanted, mine.leaves.size()};
    for (const Subtree node : plan.nodes(mine)) walk.go(node, 0, slices);
    most = std::max(most, slices.size());
  }
  Slices result(most, std::vector<Range>(plan.cuboids.size()));
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    for (std::size_t s = 0; s < of_ranks[rank].size(); ++s) result[s][rank] = of_ranks[rank][s];
  }
  return result;
}

MatrixLayout stored_layout(const MatrixLayout& layout, Op op) {
  return turns(op) ? transposed(layout) : layout;
}

MatrixLayout c_layout(const Plan& plan) {
  return layout_of(plan, plan.shape.m, plan.shape.n, [](std::size_t, const Cuboid& c) {
    return Box{c.m, c.n};
  });
}

MatrixLayout c_start_layout(const Plan& plan) {
  return layout_of(plan, plan.shape.m, plan.shape.n, [](std::size_t, const Cuboid& c) {
    return c.leaves.begin == 0 ? Box{c.m, c.n} : Box{};
  });
}

Prices prices_of(const Homes& homes, double flops_per_word, const Rounds& rounds) {
  const double seen = homes.seen.all() ? 0.25 : 1;
  Prices prices{.flops_per_word = flops_per_word, .a = seen, .b = seen};
  if (rounds.count > 1) {
    (rounds.held == Held::a ? prices.a : prices.b) *= rounds.price;
    prices.flops_per_word /= rounds.price;  // keeps the balance as important as words
    prices.held = rounds.held;
  }
  return prices;
}

index_t moved_elements(const Plan& plan, Op op_a, Op op_b, const Homes& homes, index_t rank) {
  const Cuboid& mine = plan.of(rank);
  if (mine.empty()) return 0;
  const auto away = [&](const Box& need, const MatrixLayout& home) {
    return need.area() - intersect(need, home.of(rank)).area();
  };
  const Box a{mine.m, plan.k_range(mine)}, b{plan.k_range(mine), mine.n}, c{mine.m, mine.n};
  const auto nodes = static_cast<index_t>(plan.nodes(mine).size());
  return away(turns(op_a) ? transposed(a) : a, homes.a) +
         away(turns(op_b) ? transposed(b) : b, homes.b) + nodes * away(c, homes.c);
}

Plan home_plan(const Shape& shape, const MatrixLayout& home) {
  Plan plan{shape, {}};
  for (const Box& box : home.boxes)
    plan.cuboids.push_back({box.rows, box.cols, {0, shape.leaves.count()}});
  return plan;
}

double worst_cost(const Plan& plan, Op op_a, Op op_b, const Homes& homes, const Speeds& speeds) {
  const auto& weights = speeds.weights;
  const double slowest = weights.empty() ? 1 : *std::min_element(weights.begin(), weights.end());
  double worst = 0;
  for (index_t rank = 0; rank < homes.c.ranks(); ++rank) {
    const Cuboid& c = plan.of(rank);
    const double speed = weights.empty() ? 1 : weights[static_cast<std::size_t>(rank)] / slowest;
    const double products = static_cast<double>(c.m.size()) * static_cast<double>(c.n.size()) *
                            static_cast<double>(plan.k_range(c).size());
    worst = std::max(worst, 2 * products / (speeds.flops_per_word * speed) +
                                static_cast<double>(moved_elements(plan, op_a, op_b, homes, rank)));
  }
  return worst;
}

Plan choose_plan(const Shape& shape, Op op_a, Op op_b, const Homes& homes, const Speeds& speeds) {
  return choose_plan(recursive_plan(shape, homes.c.ranks(), speeds.weights,
                                    prices_of(homes, speeds.flops_per_word)),
                     op_a, op_b, homes, speeds);
}

Plan choose_plan(Plan recursive, Op op_a, Op op_b, const Homes& homes, const Speeds& speeds) {
  const Shape& shape = recursive.shape;
  if (homes.seen.all() || homes.c.ranks() == 1 || shape.m == 0 || shape.n == 0) return recursive;
  Plan at_home = home_plan(shape, homes.c);
  const auto cost = [&](const Plan& plan) { return worst_cost(plan, op_a, op_b, homes, speeds); };
  return cost(at_home) < cost(recursive) ? at_home : recursive;
}

namespace {

/// Returns the part of a range: all but the last have whole granules.
Range part_of(Range range, index_t part, index_t parts) {
  const auto at = [&](index_t i) {
    return i == parts
               ? range.end
               : std::min(range.end, range.begin + round_up(range.size() * i / parts, cut_granule));
  };
  return {at(part), at(part + 1)};
}

}  // namespace

std::vector<Plan> in_rounds(Plan plan, const Rounds& rounds) {
  if (rounds.count <= 1) return {std::move(plan)};
  std::vector<Plan> plans;
  for (index_t round = 0; round < rounds.count; ++round) {
    for (Cuboid& c : plans.emplace_back(plan).cuboids) {
      Range& side = rounds.held == Held::a ? c.n : c.m;
      side = part_of(side, round, rounds.count);
    }
  }
  return plans;
}

std::vector<Plan> choose_plans(const Shape& shape, Op op_a, Op op_b, const Homes& homes,
                               const Speeds& speeds, const Rounds& rounds) {
  const Prices prices = prices_of(homes, speeds.flops_per_word, rounds);
  return in_rounds(choose_plan(recursive_plan(shape, homes.c.ranks(), speeds.weights, prices), op_a,
                               op_b, homes, speeds),
                   rounds);
}

bool keeps(Held operand, const Plan& round, const Plan& next) {
  return std::equal(round.cuboids.begin(), round.cuboids.end(), next.cuboids.begin(),
                    next.cuboids.end(), [&](const Cuboid& x, const Cuboid& y) {
                      return x.empty() == y.empty() && x.leaves == y.leaves &&
                             (operand == Held::a ? x.m == y.m : x.n == y.n);
                    });
}

MatrixLayout strip_of(const MatrixLayout& need, index_t strip, index_t strips) {
  MatrixLayout result = need;
  for (Box& box : result.boxes) {
    const auto at = [&](index_t i) { return box.rows.begin + box.rows.size() * i / strips; };
    box.rows = {at(strip), at(strip + 1)};
  }
  return result;
}

bool splits_k(const Plan& plan) {
  return !std::all_of(plan.cuboids.begin(), plan.cuboids.end(), [&](const Cuboid& c) {
    return c.empty() || c.leaves.size() == plan.shape.leaves.count();
  });
}

bool grows_at_home(const Plan& plan, const MatrixLayout& home) {
  for (index_t rank = 0; rank < home.ranks(); ++rank) {
    const Cuboid& mine = plan.of(rank);
    const Box box{mine.m, mine.n};
    if (!mine.empty() && !(intersect(box, home.of(rank)) == box)) return false;
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
  if (panels.empty()) panels.push_back({0, 0});  // k == 0: c = beta * c is still computed
  return panels;
}

}  // namespace tessera::inline v1::dist::matmul
