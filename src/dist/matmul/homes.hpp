#pragma once
// Homes of operands and result that minimise communication: every rank has at home a part of its
// cuboid's boxes. Pure arithmetic, the same on every rank. Cost: every step of the balance visits
// all pairs of ranks, up to 256 ranks.

#include "dist/matmul/plan.hpp"

namespace tessera::inline v1::dist::matmul {

/// Returns row blocks, the layout of files.
[[nodiscard]] Homes homes_in_rows(const Shape& shape, Op op_a, Op op_b, index_t ranks);

/// Returns a home of boxes with areas proportional to `sizes`, each as far as possible within its
/// rank's box of `need`.
[[nodiscard]] layout::MatrixLayout home_inside(const layout::MatrixLayout& need,
                                               const std::vector<double>& sizes);

/// Returns homes within the boxes of the plan's ranks. All ranks have equally many elements at
/// home, but more of the operands and fewer of c, or the reverse, to balance what the worst rank
/// receives or sends. held: the operand that rounds of the plan hold, so that homes serve all of
/// them alike.
[[nodiscard]] Homes homes_inside(const Plan& plan, Op op_a, Op op_b, std::optional<Held> held = {});

/// Returns the homes of a recursive plan that was made for homes which no other rank sees, or row
/// blocks if computing c at home in them takes the worst rank less time.
[[nodiscard]] Homes choose_homes(const Plan& recursive, Op op_a, Op op_b, const Speeds& speeds,
                                 std::optional<Held> held = {});

/// Elements that a rank receives and sends.
struct HomeTraffic {
  index_t operands_in = 0, operands_out = 0;
  index_t sums_in = 0, sums_out = 0;  ///< partial sums of c
  [[nodiscard]] index_t in() const { return operands_in + sums_in; }
  [[nodiscard]] index_t out() const { return operands_out + sums_out; }
};
/// Returns the traffic by rank.
[[nodiscard]] std::vector<HomeTraffic> traffic(const Plan& plan, Op op_a, Op op_b,
                                               const Homes& homes);

}  // namespace tessera::inline v1::dist::matmul
