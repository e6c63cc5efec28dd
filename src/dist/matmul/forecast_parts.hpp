#pragma once
// Declarations shared by the forecasts of memory and time; private to this folder.

#include <vector>

#include "dist/matmul/product_parts.hpp"

namespace tessera::inline v1::dist::matmul {

[[nodiscard]] Leaves leaves_of(const ForecastRequest& q);
[[nodiscard]] bool grows_in_c(const Plan& plan, const Homes& homes);
/// Homes and the recursive plans of all rounds, from one search a round.
struct HomesAndPlans {
  Homes homes;
  std::vector<Plan> plans;
};
[[nodiscard]] HomesAndPlans homes_and_plans(const ForecastRequest& q, const Method& method);

/// Adds the cost of one redistribution to a rank's forecast: bytes in and out, messages. Returns
/// the bytes of the buffers of non-contiguous pieces during it.
[[nodiscard]] index_t add_move(Forecast& f, const layout::MatrixLayout& home,
                               const layout::MatrixLayout& need, index_t rank, index_t element);
/// Returns the seconds of one redistribution.
[[nodiscard]] double move_seconds(const layout::MatrixLayout& home,
                                  const layout::MatrixLayout& need, index_t element,
                                  const mpi::Network& network);

/// A rank's local product and the leading dimensions of its operands, before transposition.
struct Local {
  index_t m, n, k, a_row, b_row;
};
/// Returns the bytes of the kernel's packing and summation buffers; kernels other than
/// cache_oblivious work in place.
[[nodiscard]] index_t kernel_bytes(const ForecastRequest& q, const Method& method, const Local& at,
                                   index_t leaf_count);
/// Returns the bytes of operands and result, and of the saved initial C that a repeated product
/// with beta needs.
[[nodiscard]] index_t home_bytes(const ForecastRequest& q, const Homes& homes, index_t rank);

/// Forecasts the recursive algorithm (AlgorithmInfo).
[[nodiscard]] Forecast recursive_forecast(const ForecastRequest& q, const Method& method,
                                          const ProductPlan& planned, index_t rank);
[[nodiscard]] ExchangeTime recursive_exchange(const ForecastRequest& q, const Method& method,
                                              const ProductPlan& planned,
                                              const mpi::Network& network);

}  // namespace tessera::inline v1::dist::matmul
