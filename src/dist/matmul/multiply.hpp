#pragma once
// The distributed product.

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "dist/matmul/plan.hpp"
#include "dist/matrix.hpp"
#include "kernels/matmul/variants.hpp"
#include "mpi/network.hpp"
#include "mpi/phases.hpp"

namespace tessera::dist::matmul {

/// c = alpha * op(a) op(b) + beta * c on all ranks of comm; beta == 0 never reads c. Layouts are
/// any homes.
template <class T>
struct Product {
  T alpha = T{1};
  const DistributedMatrix<T>& a;
  Op op_a = Op::none;
  const DistributedMatrix<T>& b;
  Op op_b = Op::none;
  T beta = T{0};
  DistributedMatrix<T>& c;

  [[nodiscard]] index_t m() const { return c.rows(); }
  [[nodiscard]] index_t n() const { return c.cols(); }
  [[nodiscard]] index_t k() const { return op_a == Op::none ? a.cols() : a.rows(); }
};

/// Throws Error(usage) naming the argument unless the shapes agree, all three lie on the ranks of
/// comm and c is neither a nor b. Local; multiply() and Freivalds do so first.
template <class T>
void check(const mpi::Communicator& comm, const Product<T>& product);

/// The ways to distribute a product, by name.
enum class Algorithm {
  recursive,  ///< the uneven recursive plan: operands gathered once, k split where that saves words
  summa,      ///< panels of a and b broadcast along a grid of ranks (van de Geijn and Watts 1997)
};
struct AlgorithmInfo {
  std::string_view name;
  Algorithm algorithm;
  std::string_view about;
};
[[nodiscard]] const std::vector<AlgorithmInfo>& algorithms();

/// How to compute it.
struct Method {
  Algorithm algorithm = Algorithm::recursive;
  const tessera::matmul::Variant* kernel = nullptr;  ///< nullptr: the best
  tessera::matmul::Tuning tuning = {};
  int threads = 1;
  layout::ProcessGrid grid = {0, 0};  ///< summa's; rows == 0: the nearest to squares
  index_t panel = 1024;               ///< summa's panel width along k, rounded to whole chunks
  std::vector<double> weights =
      {};  ///< recursive's: how fast each rank multiplies; empty: all alike
  index_t rounds =
      1;  ///< recursive's: boxes of c one after the other, for less memory; a power of two
  index_t slices =
      1;  ///< recursive's: parts of k, each fetched under the arithmetic of the one before
  double flops_per_word =
      core_flops_per_word;  ///< recursive's, of the slowest rank; on all ranks the same
  /// recursive's, of the product and its rounds, as plan_product() makes them; nullptr: searched
  /// anew.
  std::shared_ptr<const std::vector<Plan>> plans = {};
};

/// Multiplies. Collective; throws Error(usage) naming the argument for what does not fit together.
/// Adds to the phases "exchange" and "compute". With the kernel cache_oblivious the bits of c
/// depend on the operands alone, not on ranks, threads, algorithm or grid.
template <class T>
void multiply(const mpi::Communicator& comm, const Product<T>& product, const Method& method,
              mpi::Phases& phases);

/// What one rank holds, moves and computes.
struct Forecast {
  double flops = 0;
  index_t received_bytes = 0;
  index_t sent_bytes = 0;
  index_t messages = 0;    ///< received
  index_t home_bytes = 0;  ///< the operands and the result where they live
  index_t work_bytes = 0;  ///< beside them, at the peak
  index_t seen_bytes = 0;  ///< resident of what others have at home in shared memory
  [[nodiscard]] index_t memory() const { return home_bytes + work_bytes; }
  [[nodiscard]] index_t resident() const { return memory() + seen_bytes; }
};

struct ForecastRequest {
  index_t m = 0, n = 0, k = 0;
  Op op_a = Op::none, op_b = Op::none;
  index_t element_bytes = 8;
  double flops_each = 2;  ///< of a multiplication and its addition: 8 of complex elements
  bool reads_c = false;   ///< beta != 0
  index_t ranks = 1;
  Seen seen = {};       ///< for the recursive algorithm
  bool inside = false;  ///< may live inside of what ranks need; in row blocks otherwise
};

/// Where operands and result are to live. Arithmetic only, as all of these.
[[nodiscard]] Homes homes_of(const ForecastRequest& request, const Method& method);

/// The forecast for every rank when operands and result live in those homes.
[[nodiscard]] std::vector<Forecast> forecast(const ForecastRequest& request, const Method& method);

/// A product with everything that is known of it before it is computed, found once.
struct ProductPlan {
  Homes homes;
  std::vector<Plan> plans;          ///< recursive's, a round each
  std::vector<Forecast> forecasts;  ///< by rank
};
/// One search of a plan a round, none for summa.
[[nodiscard]] ProductPlan plan_product(const ForecastRequest& request, const Method& method);
/// The forecasts of the same homes and plans by a method of other slices.
[[nodiscard]] std::vector<Forecast> forecast(const ForecastRequest& request, const Method& method,
                                             const ProductPlan& planned);

/// Which matrices ranks of one node should see: all where else much of what they need has to
/// travel, or an operand of which a rank needs more from others than it has. Shared memory comes in
/// small pages, so that what stays at home is better off in a rank's own.
[[nodiscard]] Seen what_to_share(const ForecastRequest& request, const Method& method);

/// Seconds of messages, the slowest rank of every exchange counted.
struct ExchangeTime {
  double alone = 0;              ///< while nobody computes
  double beside_arithmetic = 0;  ///< of slices that come while the one before is multiplied
  /// What they add to so many seconds of arithmetic.
  [[nodiscard]] double beside(double arithmetic) const {
    return alone + std::max(0.0, beside_arithmetic - arithmetic);
  }
  [[nodiscard]] double all() const { return alone + beside_arithmetic; }
};
[[nodiscard]] ExchangeTime exchange_time(const ForecastRequest& request, const Method& method,
                                         const mpi::Network& network);
[[nodiscard]] ExchangeTime exchange_time(const ForecastRequest& request, const Method& method,
                                         const mpi::Network& network, const ProductPlan& planned);

/// Into how many slices to cut k: several where that makes messages and arithmetic together faster,
/// unless C is so small that a rank's threads share k. Arithmetic only.
[[nodiscard]] index_t slices_that_pay(const ForecastRequest& request, const Method& method);
[[nodiscard]] index_t slices_that_pay(const ForecastRequest& request, const Method& method,
                                      const ProductPlan& planned);

}  // namespace tessera::dist::matmul
