#pragma once
// Where operands and result live so that little of them travels: every rank has at home a part of
// what its cuboid needs. Pure arithmetic, the same on every rank.

#include "dist/matmul/plan.hpp"

namespace tessera::dist::matmul {

/// Row blocks, as files have them.
[[nodiscard]] Homes homes_in_rows(const Shape& shape, Op op_a, Op op_b, index_t ranks);

/// A home of boxes as large as `sizes` are to each other, each as far as may be inside of what its
/// rank needs.
[[nodiscard]] layout::MatrixLayout home_inside(const layout::MatrixLayout& need,
                                               const std::vector<double>& sizes);

/// Homes inside of what the plan's ranks need. Every rank has as much at home as the others, but
/// more of the operands and less of c, or the other way round, where that evens out what the worst
/// rank receives or sends.
[[nodiscard]] Homes homes_inside(const Plan& plan, Op op_a, Op op_b);

/// Those of a recursive plan, made for homes which no other rank sees, or row blocks where c
/// computed at home in them takes the worst rank less time.
[[nodiscard]] Homes choose_homes(const Plan& recursive, Op op_a, Op op_b, const Speeds& speeds);

/// Elements that go through a rank.
struct HomeTraffic {
  index_t operands_in = 0, operands_out = 0;
  index_t sums_in = 0, sums_out = 0;  ///< parts of c
  [[nodiscard]] index_t in() const { return operands_in + sums_in; }
  [[nodiscard]] index_t out() const { return operands_out + sums_out; }
};
/// By rank.
[[nodiscard]] std::vector<HomeTraffic> traffic(const Plan& plan, Op op_a, Op op_b,
                                               const Homes& homes);

}  // namespace tessera::dist::matmul
