// Homes by recursive bisection inside of the ranks' boxes, then balanced iteratively.

#include "dist/matmul/homes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tessera::inline v1::dist::matmul {
namespace {

using layout::Box;
using layout::MatrixLayout;
using layout::Range;

/// Recursive bisection of a matrix plane and of the ranks: minimises the needed elements that are
/// cut off from their ranks.
class Cutter {
 public:
  /// `alike`: the only side to cut among ranks of equal need; nullptr: either.
  Cutter(const MatrixLayout& need, const std::vector<double>& sizes, Range Box::*alike)
      : need_(need), sizes_(sizes), alike_(alike) {}

  void cut(const Box& box, std::vector<index_t> ranks, std::vector<Box>& home) const {
    if (ranks.size() == 1) {
      home[static_cast<std::size_t>(ranks.front())] = box;
      return;
    }
    Halves best;
    for (const Side side : {&Box::rows, &Box::cols}) {  // whole rows are contiguous in memory
      if (alike_ == nullptr || alike_ == side || !all_alike(ranks))
        consider(box, ranks, side, best);
    }
    const auto middle = best.ranks.begin() + best.of_first;
    cut(best.first, {best.ranks.begin(), middle}, home);
    cut(best.second, {middle, best.ranks.end()}, home);
  }

 private:
  struct Halves {
    double kept = -1;
    Box first, second;
    std::vector<index_t> ranks;
    std::ptrdiff_t of_first = 0;
  };
  using Side = Range Box::*;

  [[nodiscard]] const Box& need(index_t rank) const { return need_.of(rank); }
  [[nodiscard]] bool all_alike(const std::vector<index_t>& ranks) const {
    return std::all_of(ranks.begin(), ranks.end(),
                       [&](index_t rank) { return need(rank) == need(ranks.front()); });
  }

  /// Sorts the ranks by the midpoint of their need and tries the cuts; for many ranks only the
  /// nearly even ones.
  void consider(const Box& box, std::vector<index_t> ranks, Side side, Halves& best) const {
    constexpr std::ptrdiff_t all = 40, around = 8;
    const auto middle = [&](index_t rank) {
      return (need(rank).*side).begin + (need(rank).*side).end;
    };
    std::stable_sort(ranks.begin(), ranks.end(),
                     [&](index_t a, index_t b) { return middle(a) < middle(b); });
    const auto count = std::ssize(ranks);
    const std::ptrdiff_t from = count <= all ? 1 : count / 2 - around,
                         to = count <= all ? count - 1 : count / 2 + around;
    const auto size_of = [&](std::ptrdiff_t first, std::ptrdiff_t last) {
      return std::accumulate(
          ranks.begin() + first, ranks.begin() + last, 0.0,
          [&](double sum, index_t rank) { return sum + sizes_[static_cast<std::size_t>(rank)]; });
    };
    const double whole = size_of(0, count);
    double size = size_of(0, from - 1);
    for (std::ptrdiff_t of_first = from; of_first <= to; ++of_first) {
      size += size_of(of_first - 1, of_first);
      Box first = box, second = box;
      (first.*side).end = (second.*side).begin = place(box.*side, size / whole);
      // Prefers even cuts of the ranks among cuts that keep as many elements.
      double kept =
          -0.5 * std::abs(static_cast<double>(of_first) / static_cast<double>(count) - 0.5);
      for (std::ptrdiff_t i = 0; i < count; ++i) {
        const Box& mine = need(ranks[static_cast<std::size_t>(i)]);
        const index_t here = intersect(mine, box).area();
        const index_t still = intersect(mine, i < of_first ? first : second).area();
        if (here > 0) kept += static_cast<double>(still) / static_cast<double>(here);
      }
      if (kept > best.kept) best = {kept, first, second, ranks, of_first};
    }
  }

  /// Returns the cut, rounded to whole vectors if the side is long.
  static index_t place(Range side, double share) {
    const index_t unit = side.size() >= 32 * cut_granule ? cut_granule : 1;
    const double units = share * static_cast<double>(side.size()) / static_cast<double>(unit);
    return side.begin + std::min(side.size(), static_cast<index_t>(units + 0.5) * unit);
  }

  const MatrixLayout& need_;
  const std::vector<double>& sizes_;
  Side alike_;
};

MatrixLayout home_inside(const MatrixLayout& need, const std::vector<double>& sizes,
                         Range Box::*alike) {
  MatrixLayout home{need.rows, need.cols, std::vector<Box>(need.boxes.size())};
  std::vector<index_t> ranks(need.boxes.size());
  std::iota(ranks.begin(), ranks.end(), index_t{0});
  Cutter(need, sizes, alike).cut({{0, need.rows}, {0, need.cols}}, ranks, home.boxes);
  return home;
}

/// Iterative balance of the homes: moves elements of a rank's home from c to the operands, and
/// between the operands.
class Tilt {
 public:
  Tilt(const Plan& plan, Op op_a, Op op_b, std::optional<Held> held)
      : plan_(plan),
        held_(held),
        op_a_(op_a),
        op_b_(op_b),
        a_(a_layout(plan, op_a)),
        b_(b_layout(plan, op_b)),
        c_(c_layout(plan)),
        more_(plan.cuboids.size()),
        of_a_(plan.cuboids.size()) {
    const auto ranks = static_cast<double>(more_.size());
    const auto size = [&](const MatrixLayout& x) {
      return std::max(1.0, static_cast<double>(x.rows) * static_cast<double>(x.cols)) / ranks;
    };
    operands_ = size(a_) + size(b_);
    result_ = size(c_);
  }

  [[nodiscard]] Homes homes() const {
    std::vector<double> of_a, of_b, of_c;
    for (std::size_t r = 0; r < more_.size(); ++r) {
      const double both = 1 + more_[r] / operands_;
      const double shift = std::clamp(of_a_[r], -most * both, most * both);
      of_a.push_back(both + shift);
      of_b.push_back(both - shift);
      of_c.push_back(1 - more_[r] / result_);
    }
    return {home_inside(a_, of_a, side_of_a()), home_inside(b_, of_b, side_of_b()),
            home_inside(c_, of_c, side_of_c())};
  }

  /// Shifts towards equal elements in and out on every rank, and among the operands towards the one
  /// whose home serves its rank more.
  void step(const Homes& homes, const std::vector<HomeTraffic>& all, double towards) {
    constexpr double damping = 0.25;  // changes of neighbours in the plane add up
    const auto of_use = [](const Box& home, const Box& need) {
      return home.empty() ? 1
                          : static_cast<double>(intersect(home, need).area()) /
                                static_cast<double>(home.area());
    };
    for (std::size_t r = 0; r < more_.size(); ++r) {
      const HomeTraffic& t = all[r];
      const auto per = [](index_t x, index_t size) {
        return size > 0 ? static_cast<double>(x) / static_cast<double>(size) : 0;
      };
      const double in = 1 + per(t.sums_in, homes.c.boxes[r].area()),
                   out = per(t.operands_out, homes.a.boxes[r].area() + homes.b.boxes[r].area()) +
                         static_cast<double>(plan_.nodes(plan_.cuboids[r]).size());
      more_[r] += 2 * damping * static_cast<double>(t.in() - t.out()) / (in + out);
      more_[r] = std::clamp(more_[r], -most * operands_, most * result_);
      of_a_[r] +=
          towards * (of_use(homes.a.boxes[r], a_.boxes[r]) - of_use(homes.b.boxes[r], b_.boxes[r]));
    }
    // A shift common to all ranks has no effect, but would make the homes uneven.
    const double all_shift =
        std::accumulate(of_a_.begin(), of_a_.end(), 0.0) / static_cast<double>(of_a_.size());
    for (double& shift : of_a_) shift -= all_shift;
  }

  [[nodiscard]] std::vector<HomeTraffic> traffic_of(const Homes& homes) const {
    return traffic(plan_, op_a_, op_b_, homes);
  }

 private:
  static constexpr double most = 0.95;  // of a share

  // Rounds have parts of n, or of m: homes are cut along the other sides, so that all ranks send
  // and sum in every round.
  [[nodiscard]] Range Box::*side_of_a() const {
    if (held_ != Held::b) return nullptr;
    return turns(op_a_) ? &Box::rows : &Box::cols;
  }
  [[nodiscard]] Range Box::*side_of_b() const {
    if (held_ != Held::a) return nullptr;
    return turns(op_b_) ? &Box::cols : &Box::rows;
  }
  [[nodiscard]] Range Box::*side_of_c() const {
    if (!held_) return nullptr;
    return held_ == Held::a ? &Box::rows : &Box::cols;
  }

  const Plan& plan_;
  std::optional<Held> held_;
  Op op_a_, op_b_;
  MatrixLayout a_, b_, c_;
  std::vector<double> more_;  // elements of both operands
  std::vector<double> of_a_;  // of its share: elements more of a, fewer of b
  double operands_ = 0, result_ = 0;
};

}  // namespace

Homes homes_in_rows(const Shape& shape, Op op_a, Op op_b, index_t ranks) {
  const Extents a = stored(op_a, shape.m, shape.k()), b = stored(op_b, shape.k(), shape.n);
  return {layout::row_blocks(a.rows, a.cols, ranks), layout::row_blocks(b.rows, b.cols, ranks),
          layout::row_blocks(shape.m, shape.n, ranks)};
}

MatrixLayout home_inside(const MatrixLayout& need, const std::vector<double>& sizes) {
  return home_inside(need, sizes, nullptr);
}

std::vector<HomeTraffic> traffic(const Plan& plan, Op op_a, Op op_b, const Homes& homes) {
  const MatrixLayout a = a_layout(plan, op_a), b = b_layout(plan, op_b), c = c_layout(plan);
  std::vector<HomeTraffic> all(plan.cuboids.size());
  for (std::size_t here = 0; here < all.size(); ++here) {
    const auto nodes = static_cast<index_t>(plan.nodes(plan.cuboids[here]).size());
    for (std::size_t there = 0; there < all.size(); ++there) {
      if (here == there) continue;
      const index_t operands = intersect(a.boxes[here], homes.a.boxes[there]).area() +
                               intersect(b.boxes[here], homes.b.boxes[there]).area();
      const index_t sums = nodes * intersect(c.boxes[here], homes.c.boxes[there]).area();
      all[here].operands_in += operands;
      all[there].operands_out += operands;
      all[here].sums_out += sums;
      all[there].sums_in += sums;
    }
  }
  return all;
}

Homes homes_inside(const Plan& plan, Op op_a, Op op_b, std::optional<Held> held) {
  constexpr std::size_t most_evened = 256,
                        many = 64;  // ranks: every step visits every pair
  const bool few = plan.cuboids.size() <= many;
  const int steps = few ? 40 : 12;  // 9 ms at 61 ranks, 8 at 127
  const double towards =
      few ? 0.4 : 0.2;  // .2 converges to more words for 13 ranks, .4 oscillates for 127
  Tilt tilt(plan, op_a, op_b, held);
  Homes best = tilt.homes();
  if (plan.cuboids.size() > most_evened) return best;
  double least = std::numeric_limits<double>::max();
  Homes homes = best;
  for (int step = 0; step < steps; ++step) {
    const auto all = tilt.traffic_of(homes);
    index_t worst = 0, sum = 0;
    for (const HomeTraffic& t : all) {
      worst = std::max({worst, t.in(), t.out()});
      sum += t.in();
    }
    const double words =
        static_cast<double>(worst) + static_cast<double>(sum) / static_cast<double>(all.size());
    if (words < least) {  // as the plan weighs them
      least = words;
      best = homes;
    }
    tilt.step(homes, all, towards);
    homes = tilt.homes();
  }
  return best;
}

Homes choose_homes(const Plan& plan, Op op_a, Op op_b, const Speeds& speeds,
                   std::optional<Held> held) {
  const Shape& shape = plan.shape;
  const auto ranks = static_cast<index_t>(plan.cuboids.size());
  Homes rows = homes_in_rows(shape, op_a, op_b, ranks);
  if (ranks == 1 || shape.m == 0 || shape.n == 0 || shape.k() == 0) return rows;
  Homes inside = homes_inside(plan, op_a, op_b, held);
  const double at_home = worst_cost(home_plan(shape, rows.c), op_a, op_b, rows, speeds);
  return at_home <= worst_cost(plan, op_a, op_b, inside, speeds) ? rows : inside;
}

}  // namespace tessera::inline v1::dist::matmul
