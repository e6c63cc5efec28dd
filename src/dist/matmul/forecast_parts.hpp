#pragma once
// Declarations shared by the forecasts of memory and time; private to this folder.

#include <vector>

#include "dist/matmul/product_parts.hpp"

namespace tessera::inline v1::dist::matmul {

[[nodiscard]] Leaves leaves_of(const ForecastRequest& q);
[[nodiscard]] bool grows_in_c(const Plan& plan, const Homes& homes);
/// Homes and the recursive plan, which the method's rounds divide, from one search.
struct HomesAndPlan {
  Homes homes;
  Plan plan;
};
[[nodiscard]] HomesAndPlan homes_and_plan(const ForecastRequest& q, const Method& method);

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

/// Forecasts of a recursive product, rank by rank. The arguments must outlive it.
class RecursiveForecast {
 public:
  struct OneRound;

  RecursiveForecast(const ForecastRequest& request, const Method& method,
                    const ProductPlan& planned);
  RecursiveForecast(const RecursiveForecast&) = delete;
  RecursiveForecast& operator=(const RecursiveForecast&) = delete;
  ~RecursiveForecast();
  /// Returns a rank's memory, traffic and arithmetic.
  [[nodiscard]] Forecast of(index_t rank) const;
  [[nodiscard]] ExchangeTime exchange(const mpi::Network& network) const;

 private:
  const ForecastRequest& request_;
  const Method& method_;
  const ProductPlan& planned_;
  std::vector<OneRound> rounds_;
};

/// Forecasts the recursive algorithm (AlgorithmInfo).
[[nodiscard]] std::vector<Forecast> recursive_forecast(const ForecastRequest& q,
                                                       const Method& method,
                                                       const ProductPlan& planned);
[[nodiscard]] ExchangeTime recursive_exchange(const ForecastRequest& q, const Method& method,
                                              const ProductPlan& planned,
                                              const mpi::Network& network);

}  // namespace tessera::inline v1::dist::matmul
