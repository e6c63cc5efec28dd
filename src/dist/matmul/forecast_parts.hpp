#pragma once
// Declarations shared by the forecasts of memory and of time; private to this folder.

#include <vector>

#include "dist/matmul/algorithms.hpp"

namespace tessera::dist::matmul {

[[nodiscard]] Leaves leaves_of(const ForecastRequest& q);
[[nodiscard]] bool grows_in_c(const Plan& plan, const Homes& homes);
/// Homes and the recursive plans of all rounds, from one search a round.
struct HomesAndPlans {
  Homes homes;
  std::vector<Plan> plans;
};
[[nodiscard]] HomesAndPlans homes_and_plans(const ForecastRequest& q, const Method& method);

/// SUMMA's homes of the operands.
struct GridLayouts {
  layout::ProcessGrid grid;
  layout::BlockMap m, n, k_of_a, k_of_b;
  layout::MatrixLayout a, b, c;
};
[[nodiscard]] GridLayouts grid_layouts(const ForecastRequest& q, const Method& method,
                                       const Leaves& leaves);

}  // namespace tessera::dist::matmul
