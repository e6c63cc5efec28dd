#pragma once
// The distributed product C = alpha op(A) op(B) + beta C: its algorithms, and forecasts of their
// memory, traffic and time.

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "dist/matmul/algorithms.hpp"
#include "dist/matmul/plan.hpp"
#include "dist/matrix.hpp"
#include "kernels/matmul/variants.hpp"
#include "machine/fork_join.hpp"
#include "mpi/network.hpp"
#include "mpi/phases.hpp"

namespace tessera::inline v1::dist::matmul {

/// c = alpha * op(a) op(b) + beta * c on all ranks of comm; beta == 0 never reads c. The layouts
/// are any homes. Elements of a and b are of type S: T, or halves where T is float, as in Gemm.
template <class T, class S = T>
struct Product {
  Factor<T> alpha = Factor<T>{1};
  const DistributedMatrix<S>& a;
  Op op_a = Op::none;
  const DistributedMatrix<S>& b;
  Op op_b = Op::none;
  Factor<T> beta = Factor<T>{0};
  DistributedMatrix<T>& c;

  [[nodiscard]] index_t m() const { return c.rows(); }
  [[nodiscard]] index_t n() const { return c.cols(); }
  [[nodiscard]] index_t k() const { return op_a == Op::none ? a.cols() : a.rows(); }
};

/// Throws Error(usage) that names the argument unless the shapes agree, all three matrices are on
/// the ranks of comm, and c is neither a nor b. multiply() and Freivalds call it first. Local.
template <class T, class S = T>
void check(const mpi::Communicator& comm, const Product<T, S>& product);

/// Algorithm, kernel and parameters of a product. An algorithm ignores those that its entry does
/// not use.
struct Method {
  Algorithm algorithm = Algorithm::recursive;
  const tessera::matmul::Variant* kernel = nullptr;  ///< nullptr: the best
  tessera::matmul::Tuning tuning = {};
  int threads = machine::default_threads();
  layout::ProcessGrid grid = {0, 0};  ///< rows == 0: the nearest to square
  index_t panel = 1024;               ///< panel width along k, rounded to whole chunks
  std::vector<double> weights = {};   ///< of plans: relative speed of each rank; empty: equal
  index_t rounds = 1;                 ///< of plans: consecutive parts of c, to save memory
  Held held = Held::a;    ///< of plans in rounds: the operand that is received once and kept
  double held_price = 1;  ///< of plans in rounds: more than 1 for less of it, hence less memory
  index_t slices =
      1;  ///< of plans: parts of k, each fetched during the arithmetic of the previous one
  double flops_per_word =
      core_flops_per_word;  ///< of plans: of the slowest rank; the same on all ranks
  /// The plans of the product and its rounds from plan_product(); nullptr: searched
  /// anew.
  std::shared_ptr<const std::vector<Plan>> plans = {};
};

/// Multiplies. Throws Error(usage) that names the argument if arguments are inconsistent. Adds to
/// the phases "exchange" and "compute". With the kernel cache_oblivious the bits of c depend on the
/// operands only, not on ranks, threads, algorithm or grid. Halves are sent as they are and
/// multiplied by that kernel only; c of halves is summed in a matrix of float in addition, and
/// rounded once. Collective.
template <class T, class S = T>
void multiply(const mpi::Communicator& comm, const Product<T, S>& product, const Method& method,
              mpi::Phases& phases);
template <class T, class S = T>
void multiply(const mpi::Communicator& comm, const Product<T, S>& product,
              const Method& method = {}) {
  mpi::Phases unused;
  multiply(comm, product, method, unused);
}
/// c = a b.
template <class T, class S>
void multiply(const mpi::Communicator& comm, const DistributedMatrix<S>& a,
              const DistributedMatrix<S>& b, DistributedMatrix<T>& c, const Method& method = {}) {
  multiply(comm, Product<T, S>{.a = a, .b = b, .c = c}, method);
}
/// Multiplies matrices of numbers under others' names, as std::complex.
template <class T, class S = T>
requires is_foreign<S>
void multiply(const mpi::Communicator& comm, const Product<T, S>& product, const Method& method,
              mpi::Phases& phases) {
  multiply(comm,
           Product<Own<T>, Own<S>>{.alpha = own(product.alpha),
                                   .a = product.a,
                                   .op_a = product.op_a,
                                   .b = product.b,
                                   .op_b = product.op_b,
                                   .beta = own(product.beta),
                                   .c = product.c},
           method, phases);
}

/// Returns the method's rounds.
[[nodiscard]] inline Rounds rounds_of(const Method& method) {
  return {method.rounds, method.held, method.held_price};
}

/// Memory, traffic and arithmetic of one rank.
struct Forecast {
  double flops = 0;
  index_t received_bytes = 0;
  index_t sent_bytes = 0;
  index_t messages = 0;    ///< received
  index_t home_bytes = 0;  ///< operands and result at home
  index_t work_bytes = 0;  ///< in addition, at the peak
  index_t seen_bytes = 0;  ///< resident bytes of other ranks' homes in shared memory
  [[nodiscard]] index_t memory() const { return home_bytes + work_bytes; }
  [[nodiscard]] index_t resident() const { return memory() + seen_bytes; }
};

struct ForecastRequest {
  index_t m = 0, n = 0, k = 0;
  Op op_a = Op::none, op_b = Op::none;
  index_t element_bytes = 8;
  double flops_each = 2;  ///< of a multiplication and its addition: 8 for complex elements
  bool reads_c = false;   ///< beta != 0
  index_t ranks = 1;
  Seen seen = {};       ///< for algorithms that use plans
  bool inside = false;  ///< homes may be within the ranks' boxes; otherwise row blocks
};

/// Returns the homes of operands and result. Arithmetic only, as all of these.
[[nodiscard]] Homes homes_of(const ForecastRequest& request, const Method& method);

/// Returns the forecast of every rank for those homes.
[[nodiscard]] std::vector<Forecast> forecast(const ForecastRequest& request, const Method& method);

/// Homes, plans and forecasts of a product, computed once.
struct ProductPlan {
  Homes homes;
  std::vector<Plan> plans;          ///< one per round, if the algorithm uses plans
  std::vector<Forecast> forecasts;  ///< by rank
};
/// Plans a product, with one search a round if its algorithm uses plans.
[[nodiscard]] ProductPlan plan_product(const ForecastRequest& request, const Method& method);
/// Whether a rank has the memory of a forecast.
using FitsRank = std::function<bool(const Forecast&)>;
/// Plans a product in rounds that fit on every rank, with about the fewest words received, and sets
/// the method's rounds and slices. Returns no forecasts, and leaves the method, if nothing fits.
/// Precondition: the algorithm uses plans.
[[nodiscard]] ProductPlan plan_in_rounds(const ForecastRequest& request, Method& method,
                                         const FitsRank& fits);
/// Returns the forecasts of the same homes and plans for a method with another number of slices.
[[nodiscard]] std::vector<Forecast> forecast(const ForecastRequest& request, const Method& method,
                                             const ProductPlan& planned);

/// Returns the matrices that ranks of a node should share: all if much of the needed data would be
/// sent otherwise, or an operand of which a rank needs more from others than it has. Shared memory
/// has small pages, so that data used at home only is faster in a rank's private memory.
[[nodiscard]] Seen what_to_share(const ForecastRequest& request, const Method& method);

/// Seconds of messages, summed over the slowest rank of every exchange.
struct ExchangeTime {
  double alone = 0;       ///< not overlapped with arithmetic
  double overlapped = 0;  ///< of slices received during the product of the previous slice
  /// Returns the seconds that messages add to `arithmetic` seconds.
  [[nodiscard]] double beyond(double arithmetic) const {
    return alone + std::max(0.0, overlapped - arithmetic);
  }
  [[nodiscard]] double all() const { return alone + overlapped; }
};
[[nodiscard]] ExchangeTime exchange_time(const ForecastRequest& request, const Method& method,
                                         const mpi::Network& network);
[[nodiscard]] ExchangeTime exchange_time(const ForecastRequest& request, const Method& method,
                                         const mpi::Network& network, const ProductPlan& planned);

/// Returns the number of slices of k that minimises messages and arithmetic together; 1 if C is so
/// small that a rank's threads split k. Arithmetic only.
[[nodiscard]] index_t slices_that_pay(const ForecastRequest& request, const Method& method);
[[nodiscard]] index_t slices_that_pay(const ForecastRequest& request, const Method& method,
                                      const ProductPlan& planned);

/// The members of Method that an algorithm uses.
struct Uses {
  bool grid = false;
  bool panel = false;
  bool plans = false;  ///< recursive plans, hence weights, rounds, slices and shared memory
};

template <class T, class S = T>
using MultiplyFunction = void (*)(const mpi::Communicator&, const Product<T, S>&, const Method&,
                                  mpi::Phases&);

/// A distributed algorithm: what the tables and options show, and its functions.
struct AlgorithmInfo {
  std::string_view name;
  Algorithm algorithm;
  std::string_view about;  ///< one line, with its source
  Uses uses = {};
  /// Returns why the algorithm cannot run on that many ranks with the method's grid, or "".
  /// nullptr: it runs on any.
  std::string (*unmet)(const Method& method, index_t ranks) = nullptr;
  std::tuple<MultiplyFunction<float>, MultiplyFunction<double>, MultiplyFunction<Complex<float>>,
             MultiplyFunction<Complex<double>>, MultiplyFunction<float, Half>,
             MultiplyFunction<float, BFloat16>>
      multiply;
  /// Returns the memory, traffic and arithmetic of every rank, for any number of ranks.
  std::vector<Forecast> (*forecast)(const ForecastRequest& request, const Method& method,
                                    const ProductPlan& planned);
  /// Returns the time of the messages.
  ExchangeTime (*exchange)(const ForecastRequest& request, const Method& method,
                           const ProductPlan& planned, const mpi::Network& network);
};

/// Returns the entries of all algorithms; the first is the default.
[[nodiscard]] const std::vector<AlgorithmInfo>& algorithms();
/// Returns the names of the algorithms that use that member of Method.
[[nodiscard]] std::vector<std::string> algorithms_with(bool Uses::*member);
/// Throws Error(usage) unless the method's algorithm can run on that many ranks.
void require_runnable(const Method& method, index_t ranks);

}  // namespace tessera::inline v1::dist::matmul
