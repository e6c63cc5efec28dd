// Forecasts of a product by the entry of its algorithm, and the choices that follow from them: what
// to share, in how many slices. Arithmetic only.

#include <algorithm>
#include <cmath>
#include <utility>

#include "dist/matmul/forecast_parts.hpp"

namespace tessera::inline v1::dist::matmul {
using layout::MatrixLayout;

std::vector<Forecast> forecast(const ForecastRequest& request, const Method& method) {
  return plan_product(request, method).forecasts;
}

std::vector<Forecast> forecast(const ForecastRequest& request, const Method& method,
                               const ProductPlan& planned) {
  return info(method.algorithm).forecast(request, method, planned);
}

ProductPlan plan_product(const ForecastRequest& request, const Method& method) {
  ProductPlan planned;
  if (info(method.algorithm).uses.plans) {
    HomesAndPlan both = homes_and_plan(request, method);
    planned.homes = std::move(both.homes);
    planned.plans = in_rounds(std::move(both.plan), rounds_of(method));
  } else {
    planned.homes = homes_of(request, method);
  }
  planned.forecasts = forecast(request, method, planned);
  return planned;
}

namespace {

constexpr index_t worthwhile = 8;  // an eighth of a rank's home bytes

/// Returns whether messages are significant in every plan, without searching one: among equal ranks
/// a rank with its share of the products needs at least 3 (mnk/P)^(2/3) elements of the three
/// matrices (Loomis and Whitney 1949), and those not at home are sent or received.
bool moves_much_anyhow(const ForecastRequest& q, const Method& method, const Homes& homes) {
  if (!method.weights.empty()) return false;
  index_t most_home = 0, most_bytes = 0;
  for (index_t rank = 0; rank < q.ranks; ++rank) {
    most_home = std::max(
        most_home, homes.a.of(rank).area() + homes.b.of(rank).area() + homes.c.of(rank).area());
    most_bytes = std::max(most_bytes, home_bytes(q, homes, rank));
  }
  const double side = std::cbrt(static_cast<double>(q.m) * static_cast<double>(q.n) *
                                static_cast<double>(q.k) / static_cast<double>(q.ranks));
  const double moved = (3 * side * side - static_cast<double>(most_home)) / 2;  // elements
  return moved * static_cast<double>(q.element_bytes) >
         static_cast<double>(most_bytes / worthwhile + 1);
}

}  // namespace

Seen what_to_share(const ForecastRequest& request, const Method& method) {
  if (!info(method.algorithm).uses.plans || request.ranks == 1) return {};
  ForecastRequest apart = request;
  apart.seen = {};
  apart.inside = false;
  if (moves_much_anyhow(apart, method, homes_of(apart, method))) return all_seen;
  const ProductPlan planned = plan_product(apart, method);
  const auto& all = planned.forecasts;
  const bool much = std::any_of(all.begin(), all.end(), [](const Forecast& f) {
    return std::max(f.received_bytes, f.sent_bytes) > f.home_bytes / worthwhile;
  });
  if (much) return all_seen;
  const Homes& homes = planned.homes;
  const auto comes = [&](const MatrixLayout& home, const MatrixLayout& need) {
    for (index_t rank = 0; rank < request.ranks; ++rank) {
      const index_t here = intersect(home.of(rank), need.of(rank)).area();
      if (need.of(rank).area() - here > 0 && need.of(rank).area() >= 2 * here) return true;
    }
    return false;
  };
  Seen seen;
  for (const Plan& plan : planned.plans) {
    seen.a = seen.a || comes(homes.a, a_layout(plan, apart.op_a));
    seen.b = seen.b || comes(homes.b, b_layout(plan, apart.op_b));
  }
  return seen;
}

ExchangeTime exchange_time(const ForecastRequest& request, const Method& method,
                           const mpi::Network& network) {
  return exchange_time(request, method, network, plan_product(request, method));
}

ExchangeTime exchange_time(const ForecastRequest& request, const Method& method,
                           const mpi::Network& network, const ProductPlan& planned) {
  return info(method.algorithm).exchange(request, method, planned, network);
}

index_t slices_that_pay(const ForecastRequest& request, const Method& method) {
  return slices_that_pay(request, method, plan_product(request, method));
}

index_t slices_that_pay(const ForecastRequest& request, const Method& method,
                        const ProductPlan& planned) {
  constexpr index_t slices = 8;  // an eighth of the messages precedes any arithmetic
  constexpr index_t enough =
      256 * 256;  // elements of C a thread: enough that threads do not split a slice along k
  constexpr double word_seconds = 8 / 5e9;  // the rate in core_flops_per_word
  if (!info(method.algorithm).uses.plans || request.seen.all() || request.ranks == 1) return 1;
  const double threads = method.flops_per_word / core_flops_per_word;
  double flops = 0;
  for (const Plan& plan : planned.plans) {
    double most = 0;
    for (const Cuboid& c : plan.cuboids) {
      const auto elements = static_cast<double>(c.m.size() * c.n.size());
      if (!c.empty() && elements < threads * enough) return 1;
      most = std::max(most,
                      request.flops_each * elements * static_cast<double>(plan.k_range(c).size()));
    }
    flops += most;
  }
  const double arithmetic = flops / method.flops_per_word * word_seconds;
  const auto seconds = [&](index_t count) {
    Method sliced = method;
    sliced.slices = count;
    return arithmetic + exchange_time(request, sliced, {}, planned).beyond(arithmetic);
  };
  return seconds(slices) < seconds(1) ? slices : 1;
}

}  // namespace tessera::inline v1::dist::matmul
