// Search of the uneven recursive plan (after CARMA, Demmel et al. 2013) by branch and bound with
// memoisation. Cost: some 10^4 look-ups at 127 ranks, microseconds to milliseconds.

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>

#include "dist/matmul/plan.hpp"
#include "dist/matmul/plan_search.hpp"

namespace tessera::inline v1::dist::matmul {
namespace {

using layout::Range;

constexpr index_t few = 5;             // ranks for which every first group is tried
constexpr index_t most_searched = 32;  // ranks; beyond, groups are halves
constexpr double held_slack = 1.25;    // of the best plan's held operand: sides are rounded
constexpr double as_even = 0.02;       // tolerated load imbalance: cuts of k are often as far off

/// Searches the cheapest cuts of a part of the product for a number of ranks; memoises each
/// distinct part.
class RecursivePlanner {
 public:
  /// Normalises the weights to the slowest rank, to which the price of arithmetic refers.
  RecursivePlanner(const Shape& shape, const std::vector<double>& weights, const Prices& prices)
      : shape_(shape), weights_(weights), prices_(prices) {
    const auto [least, most] = std::minmax_element(weights.begin(), weights.end());
    alike_ = *least == *most;
    const double unit = *least;
    for (double& weight : weights_) weight = alike_ ? 1 : weight / unit;
    sums_.push_back(0);
    for (const double weight : weights_) sums_.push_back(sums_.back() + weight);
    most_weight_ = alike_ ? 1 : *most / unit;
    const auto per = [](index_t size) {
      return 1 / static_cast<double>(std::max<index_t>(size, 1));
    };
    at_home_ = prices.b * per(shape.m) + prices.a * per(shape.n) + per(shape.k());
    const double products = static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                            static_cast<double>(shape.k());
    unit_m_ = std::max(1.0, prices.b / prices.a);
    unit_n_ = std::max(1.0, prices.a / prices.b);
    if (prices.held) {
      const double price = held(prices.a, prices.b) / held(prices.b, prices.a);
      most_held_ = held_slack * std::pow(products / (sums_.back() * price), 2.0 / 3);
    }
    even_ = (1 + as_even) * 2 * products / (prices.flops_per_word * sums_.back());
  }

  void assign(const Cuboid& part, RankRange group, std::vector<Cuboid>& out) {
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
  static std::pair<RankRange, RankRange> split(RankRange group, index_t p1) {
    return {{group.first, p1}, {group.first + p1, group.ranks - p1}};
  }
  [[nodiscard]] double weight(RankRange group) const {
    return sums_[static_cast<std::size_t>(group.first + group.ranks)] -
           sums_[static_cast<std::size_t>(group.first)];
  }
  /// Returns the fastest rank, relative to the group's first.
  [[nodiscard]] index_t fastest(RankRange group) const {
    const auto begin = weights_.begin() + group.first;
    return std::max_element(begin, begin + group.ranks) - begin;
  }

  [[nodiscard]] index_t length(Range leaves) const {
    return shape_.leaves.begin(leaves.end) - shape_.leaves.begin(leaves.begin);
  }

  [[nodiscard]] double volume_of(const Cuboid& part) const {
    return static_cast<double>(part.m.size()) * static_cast<double>(part.n.size()) *
           static_cast<double>(length(part.leaves));
  }
  /// Returns the cost of `products` products at a weight.
  [[nodiscard]] double arithmetic(double products, double weight) const {
    return std::max(even_, 2 * products / (prices_.flops_per_word * weight));
  }

  /// Returns a lower bound for plans that cost less than `enough`: the worst rank has at least an
  /// even share, no rank has time for more products, and among parts of equal volume cubes need the
  /// fewest words.
  [[nodiscard]] Cost least(const Cuboid& part, RankRange group, double enough) const {
    const double products = volume_of(part);
    const double most = std::min(products, enough * prices_.flops_per_word * most_weight_ / 2);
    const double words =
        products * std::max(0.0, 3 * std::cbrt(prices_.a * prices_.b / most) - at_home_);
    return {arithmetic(products, weight(group)) + words / weight(group), words};
  }

  /// Returns a's or b's value, of the operand that is held.
  [[nodiscard]] double held(double a, double b) const { return prices_.held == Held::a ? a : b; }
  /// Returns the price of what a rank holds beyond the best plan for equal ranks: the rank with the
  /// most determines how much memory the product takes.
  [[nodiscard]] double too_much_held(double a, double b) const {
    const double price = held(prices_.a, prices_.b);
    if (!prices_.held || price <= held(prices_.b, prices_.a)) return 0;
    constexpr double much = 8;
    return much * price * std::max(0.0, held(a, b) - most_held_);
  }

  /// Returns the cost of the whole part on the fastest rank. A rank has its share of the product at
  /// home of every matrix: it receives the rest of its operands, and sends every node of the
  /// summation tree.
  [[nodiscard]] Cost single_cost(const Cuboid& part, RankRange group) const {
    const auto share = [](index_t size, index_t all) {
      return static_cast<double>(size) / static_cast<double>(std::max<index_t>(all, 1));
    };
    const auto m = static_cast<double>(part.m.size()), n = static_cast<double>(part.n.size());
    const auto k = static_cast<double>(length(part.leaves));
    const auto nodes = static_cast<double>(node_count(part.leaves.begin, part.leaves.end));
    const double operands = prices_.a * m * k * (1 - share(part.n.size(), shape_.n)) +
                            prices_.b * k * n * (1 - share(part.m.size(), shape_.m));
    const double words = operands + m * n * (nodes - share(length(part.leaves), shape_.k())) +
                         too_much_held(m * k, k * n);
    const double speed = weights_[static_cast<std::size_t>(group.first + fastest(group))];
    return {words + arithmetic(m * n * k, speed), words};
  }

  /// Returns subtrees(whole(leaves), begin, end).size(): nodes begin at multiples of their size, a
  /// power of two.
  [[nodiscard]] index_t node_count(index_t begin, index_t end) const {
    const index_t all = shape_.leaves.count();
    index_t nodes = 0;
    for (index_t at = begin; at < end; ++nodes) {
      const index_t aligned =
          at == 0 ? all : index_t{1} << std::countr_zero(static_cast<std::uint64_t>(at));
      at += std::min(aligned,
                     static_cast<index_t>(std::bit_floor(static_cast<std::uint64_t>(end - at))));
    }
    return nodes;
  }

  static Range cut_range(Range range, double w1, double w, index_t unit, bool first) {
    const double share = static_cast<double>(range.size()) * w1 / w;
    const index_t units = static_cast<index_t>(share / static_cast<double>(unit) + 0.5);
    const index_t at = std::clamp(range.begin + units * unit, range.begin, range.end);
    return first ? Range{range.begin, at} : Range{at, range.end};
  }

  /// Returns the leaf at which to cut k: among the leaves within the given fraction of the
  /// proportional place the one with the fewest nodes of the summation tree on both sides, since
  /// every node is sent as a separate C.
  [[nodiscard]] index_t leaf_cut(Range leaves, double w1, double w, double within) const {
    const double ideal =
        static_cast<double>(leaves.begin) + static_cast<double>(leaves.size()) * w1 / w;
    const double slack = std::max(0.5, within * static_cast<double>(leaves.size()));
    index_t best_leaf = leaves.begin;
    index_t fewest = std::numeric_limits<index_t>::max();
    for (index_t leaf = leaves.begin + 1; leaf < leaves.end; ++leaf) {
      if (std::abs(static_cast<double>(leaf) - ideal) > slack) continue;
      const index_t nodes = node_count(leaves.begin, leaf) + node_count(leaf, leaves.end);
      if (nodes < fewest) {
        fewest = nodes;
        best_leaf = leaf;
      }
    }
    return best_leaf;
  }

  [[nodiscard]] std::pair<Cuboid, Cuboid> halves(const Cuboid& part, Cut cut, RankRange of_first,
                                                 RankRange group) const {
    const double w1 = weight(of_first), w = weight(group);
    Cuboid first = part, second = part;
    if (cut == Cut::m) {
      first.m = cut_range(part.m, w1, w, cut_granule, true);
      second.m = cut_range(part.m, w1, w, cut_granule, false);
    } else if (cut == Cut::n) {
      first.n = cut_range(part.n, w1, w, cut_granule, true);
      second.n = cut_range(part.n, w1, w, cut_granule, false);
    } else {
      const index_t at = leaf_cut(part.leaves, w1, w, cut == Cut::k ? 0.03 : 0);
      first.leaves.end = second.leaves.begin = at;
    }
    return {first, second};
  }

  /// Returns the number of ranks in the first group for which both weights are most nearly equal.
  [[nodiscard]] index_t half(RankRange group) const {
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

  /// Returns the sizes of the first group to try for a cut of a side: half of the ranks; all sizes
  /// for few ranks; for more ranks also those of the first of several slabs of m or n, as thick as
  /// a cube for one rank or slightly thicker.
  [[nodiscard]] Few<index_t, few> group_sizes(RankRange group, Cut cut, double side,
                                              double volume) const {
    Few<index_t, few> sizes;
    sizes.insert(half(group));
    if (group.ranks <= few) {
      for (index_t p1 = 1; p1 <= group.ranks / 2; ++p1) sizes.insert(p1);
    } else if ((cut == Cut::m || cut == Cut::n) && group.ranks <= most_searched) {
      const auto ranks = static_cast<double>(group.ranks);
      const auto thin = [&](index_t p1) {  // thinner than the cube
        const double thickness = side * static_cast<double>(p1) / ranks;
        return thickness * thickness * thickness * ranks < volume;
      };
      index_t slab = 1;
      while (slab < group.ranks && thin(slab)) ++slab;
      for (const index_t p1 : {slab - 1, slab}) {
        if (p1 > 0 && p1 < group.ranks) sizes.insert(p1);
      }
    }
    return sizes;
  }

  /// Returns the dimensions that can be cut, with their lengths in units of a cuboid of the fewest
  /// words, that are at least half as long as the longest one, or nearly as long for many ranks: a
  /// cuboid with a longer side is never part of a plan with few words, and excluding such cuts
  /// keeps the search short.
  [[nodiscard]] Few<std::pair<Cut, double>, 4> promising_cuts(const Cuboid& part,
                                                              index_t ranks) const {
    const bool fixed = prices_.held && part.leaves.size() < shape_.leaves.count();
    const auto side_of = [&](index_t size, double unit) {
      return size > cut_granule && !fixed ? static_cast<double>(size) / unit : 0;
    };
    const index_t k = length(part.leaves);
    const bool deep = k > 8 * std::max(part.m.size(), part.n.size());
    const std::pair<Cut, double> sides[] = {
        {Cut::m, side_of(part.m.size(), unit_m_)},
        {Cut::n, side_of(part.n.size(), unit_n_)},
        {Cut::k, static_cast<double>(part.leaves.size() > 1 ? k : 0)},
        {Cut::k_evenly, static_cast<double>(deep ? k : 0)}};
    double longest = 1;
    for (const auto& [cut, side] : sides) longest = std::max(longest, side);
    const double cube =
        std::cbrt(volume_of(part) / (unit_m_ * unit_n_ * static_cast<double>(ranks)));
    const auto promises = [&](double side) {  // m and n must be cut while k is longer if k is last
      return prices_.held ? side >= cube
                          : 10 * longest <= (ranks <= most_searched ? 20 : 11) * side;
    };
    Few<std::pair<Cut, double>, 4> result;
    for (const auto& [cut, side] : sides) {
      if (promises(side)) result.push({cut, side});
    }
    return result;
  }

  /// Returns a key in which nearly equal sizes agree: the leading bits, to 0.1 %, and the number of
  /// dropped bits.
  static std::uint64_t rounded(index_t size) {
    constexpr int kept = 11;
    const auto bits = static_cast<std::uint64_t>(size);
    const int dropped = std::max(0, static_cast<int>(std::bit_width(bits)) - kept);
    return bits >> dropped | static_cast<std::uint64_t>(dropped) << kept;
  }
  [[nodiscard]] Known::MemoKey key(const Cuboid& part, RankRange group) const {
    const auto word = [](index_t x) { return static_cast<std::uint64_t>(x); };
    return {rounded(part.m.size()) | rounded(part.n.size()) << 17 | word(part.leaves.begin) << 34 |
                word(part.leaves.end) << 42,
            word(group.ranks) << 32 | word(alike_ ? 0 : group.first)};
  }

  /// Returns the choice that leaves the other ranks idle.
  [[nodiscard]] Choice whole_part(const Cuboid& part, RankRange group) const {
    return {Cut::none, 0, single_cost(part, group)};
  }

  Choice best(const Cuboid& part, RankRange group) {
    if (group.ranks == 1 || part.empty()) return whole_part(part, group);
    const Known::MemoKey known = key(part, group);
    if (const Choice* found = known_.find(known)) return *found;
    Choice choice = whole_part(part, group);
    const double volume = volume_of(part) / (unit_m_ * unit_n_);
    for (const auto& [cut, side] : promising_cuts(part, group.ranks)) {
      for (const index_t p1 : group_sizes(group, cut, side, volume)) {
        const auto [of_first, of_second] = split(group, p1);
        const auto [first, second] = halves(part, cut, of_first, group);
        if (first.empty() || second.empty()) continue;
        const double enough = choice.cost.of(group.ranks);
        const Cost least_b = least(second, of_second, enough);
        if ((least(first, of_first, enough) + least_b).of(group.ranks) >= enough) continue;
        const Cost a = best(first, of_first).cost;
        if ((a + least_b).of(group.ranks) >= enough) continue;
        const Cost both = a + best(second, of_second).cost;
        if (both.of(group.ranks) < enough * (1 - 1e-9)) choice = {cut, p1, both};
      }
    }
    known_.add(known, choice);
    return choice;
  }

  Shape shape_;
  std::vector<double> weights_, sums_;  // sums_[r]: weights of the ranks before r
  Prices prices_;
  bool alike_ = true;
  double most_weight_ = 1;
  double unit_m_ = 1, unit_n_ = 1;  // sides of a cuboid of the fewest words, for 1 of k
  double most_held_ = 0;            // elements that a rank should hold at most
  double at_home_ = 0;              // of the operands and c, in words a product
  double even_ = 0;                 // arithmetic that counts as an even share
  Known known_;
};

std::atomic<index_t> searches{0};

}  // namespace

index_t plan_searches() { return searches.load(std::memory_order_relaxed); }

Plan recursive_plan(const Shape& shape, index_t ranks, const std::vector<double>& weights,
                    const Prices& prices) {
  searches.fetch_add(1, std::memory_order_relaxed);
  TESSERA_EXPECTS(weights.empty() || static_cast<index_t>(weights.size()) == ranks);
  Plan plan{shape, {}};
  const Cuboid all{{0, shape.m}, {0, shape.n}, {0, shape.leaves.count()}};
  const std::vector<double> alike(static_cast<std::size_t>(ranks), 1);
  RecursivePlanner(shape, weights.empty() ? alike : weights, prices)
      .assign(all, {0, ranks}, plan.cuboids);
  return plan;
}

}  // namespace tessera::inline v1::dist::matmul
