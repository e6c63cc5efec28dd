// Search of the rounds with the least time in the memory that there is: the price of the operand
// that is held grows until a plan fits.

#include <algorithm>
#include <utility>

#include "dist/matmul/forecast_parts.hpp"

namespace tessera::inline v1::dist::matmul {
namespace {

constexpr index_t most_doublings = 8;  // of rounds
constexpr index_t least_side = 64;     // of a part of c: thinner ones take the kernel longer

/// Returns the arithmetic of the worst rank, in elements, and the elements that a rank receives in
/// the mean.
double cost_of(const ForecastRequest& q, const Method& method, const ProductPlan& planned) {
  double most = 0, bytes = 0;
  for (const Forecast& f : planned.forecasts) {
    most = std::max(most, f.flops);
    bytes += static_cast<double>(f.received_bytes);
  }
  return most / method.flops_per_word * 2 / q.flops_each +
         bytes / static_cast<double>(q.element_bytes * q.ranks);
}

/// The rounds of one plan: the rank that needs most decides before all are forecast.
class FewestRounds {
 public:
  /// Searches the plan for the method's held operand and price.
  FewestRounds(const ForecastRequest& request, const Method& method, const FitsRank& fits)
      : request_(request), method_(method), fits_(fits) {
    method_.rounds = 2;  // the plan is the same for any number above 1
    base_ = homes_and_plan(request, method_);
    planned_ = in_rounds_of(1);
    planned_.forecasts = forecast(request, method_, planned_);
    const auto& all = planned_.forecasts;
    suspect_ = std::max_element(
                   all.begin(), all.end(),
                   [](const Forecast& x, const Forecast& y) { return x.memory() < y.memory(); }) -
               all.begin();
  }

  /// Returns the cost, which is about that of any number of rounds.
  [[nodiscard]] double cost() const { return cost_of(request_, method_, planned_); }
  [[nodiscard]] const Method& method() const { return method_; }

  /// Returns the fewest rounds (a power of two) that fit on every rank and sets the method's; no
  /// forecasts if none do.
  ProductPlan find() {
    index_t longest = 0;
    for (const Cuboid& c : base_.plan.cuboids)
      longest = std::max(longest, method_.held == Held::a ? c.n.size() : c.m.size());
    index_t most = 1;
    while (most < most_doublings && (longest >> (most + 1)) >= least_side) ++most;
    if (!suspect_fits(most)) return {};
    index_t least = 1;
    for (index_t fits = most; least < fits;) {
      const index_t middle = (least + fits) / 2;
      if (suspect_fits(middle))
        fits = middle;
      else
        least = middle + 1;
    }
    for (; least <= most; ++least) {
      if (!suspect_fits(least)) continue;
      planned_.forecasts = forecast(request_, method_, planned_);
      const auto& all = planned_.forecasts;
      const auto failed = std::find_if_not(all.begin(), all.end(), fits_);
      if (failed == all.end()) return std::move(planned_);
      suspect_ = failed - all.begin();
    }
    return {};
  }

 private:
  ProductPlan in_rounds_of(index_t doublings) {
    method_.rounds = index_t{1} << doublings;
    return {base_.homes, in_rounds(base_.plan, rounds_of(method_)), {}};
  }
  bool suspect_fits(index_t doublings) {
    planned_ = in_rounds_of(doublings);
    return fits_(RecursiveForecast(request_, method_, planned_).of(suspect_));
  }

  const ForecastRequest& request_;
  Method method_;
  const FitsRank& fits_;
  HomesAndPlan base_;
  ProductPlan planned_;
  index_t suspect_ = 0;
};

}  // namespace

ProductPlan plan_in_rounds(const ForecastRequest& request, Method& method, const FitsRank& fits) {
  ProductPlan best;
  Method chosen = method;
  double least = 0;
  const auto consider = [&](double price, Held held) {
    Method tried = method;
    tried.slices = 1;
    tried.held = held;
    tried.held_price = price;
    FewestRounds rounds(request, tried, fits);
    if (!best.forecasts.empty() && rounds.cost() >= (1 - 1e-9) * least) return;
    ProductPlan planned = rounds.find();
    if (planned.forecasts.empty()) return;
    best = std::move(planned);
    chosen = rounds.method();
    least = cost_of(request, chosen, best);
  };
  // Dearer means more words, up to the error of the search: one price more than fits is tried.
  bool found = false;
  for (const double price : {1.0, 1.1, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 16.0, 32.0, 64.0, 256.0}) {
    for (const Held held : {Held::a, Held::b}) consider(price, held);
    if (found) break;
    found = !best.forecasts.empty();
  }
  if (found) method = chosen;
  return best;
}

}  // namespace tessera::inline v1::dist::matmul
