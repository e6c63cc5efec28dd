// Choice of the grid with the smallest halo, and search of the halo steps with the least forecast
// time.

#include "dist/stencil/plan.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.hpp"

namespace tessera::inline v1::dist::stencil {
namespace {

constexpr index_t line_bytes = 64;
constexpr index_t most_steps = 64;            // beyond, neither messages nor memory limit
constexpr index_t most_streamed_steps = 512;  // but the bus to a device does
constexpr double longest_stretch = 60;        // seconds without a progress report

layout::GridRequest grid_request(const PlanRequest& request) {
  const Scheme& scheme = request.scheme;
  return {scheme.global, request.ranks, scheme.stencil.radius, scheme.periodic(),
          line_bytes / request.element_bytes};
}

void check(const PlanRequest& request) {
  const auto at_least = [](const char* name, index_t value, index_t least) {
    require_argument(value >= least, name,
                     fmt::format("is {1}: must be at least {0}", least, value));
  };
  at_least("element_bytes", request.element_bytes, 1);
  at_least("steps", request.steps, 0);
  at_least("ranks", request.ranks, 1);
  at_least("threads", request.threads, 1);
  at_least("halo_steps", request.halo_steps, 0);
  at_least("fields", request.fields, 1);
  for (int d = 0; d < 3; ++d) {
    at_least("scheme.global", request.scheme.global[d], 0);
    if (request.parts) at_least("parts", (*request.parts)[d], 1);
  }
}

layout::GridLayout grid_of(const PlanRequest& request) {
  if (!request.parts) {
    std::optional<layout::GridLayout> uneven;
    if (request.weighted()) uneven = weighted_grid(grid_request(request), request.weights);
    return uneven ? *uneven : choose_grid(grid_request(request));
  }
  const Index3 parts = *request.parts;
  const int dims = request.scheme.stencil.dims;
  require_argument(parts.volume() <= request.ranks, "grid",
                   fmt::format("{} needs {} ranks: the run has {}", layout::parts_text(parts, dims),
                               parts.volume(), request.ranks));
  require_argument(
      fits(parts, grid_request(request)), "grid",
      fmt::format("{} makes boxes shorter than the radius of the stencil; use fewer parts",
                  layout::parts_text(parts, dims)));
  return {request.scheme.global, parts, request.ranks};
}

/// Returns the rank with the most neighbours among those with the largest box.
index_t busiest(const layout::GridLayout& grid) {
  Index3 at;
  for (int d = 0; d < 3; ++d) at[d] = grid.parts[d] > 2 ? 1 : 0;
  return grid.rank_at(at);
}

}  // namespace

index_t deepest(const Scheme& scheme, const layout::GridLayout& grid) {
  index_t most = index_t{1} << 40;
  for (int d = 0; d < 3; ++d) {
    const index_t radius = scheme.stencil.radius[d];
    if (grid.parts[d] > 1 && radius > 0) most = std::min(most, grid.shortest(d) / radius);
  }
  return most;
}

Plan make_plan(const PlanRequest& request) {
  check(request);
  Plan best{grid_of(request), 1};
  const index_t deep = std::max<index_t>(1, deepest(request.scheme, best.grid));
  const index_t useful = request.device_memory > 0 ? most_streamed_steps : most_steps;
  const index_t most = std::clamp<index_t>(request.steps, 1, std::min(deep, useful));
  if (request.halo_steps > 0) return {best.grid, std::min(request.halo_steps, deep)};
  const index_t rank = busiest(best.grid);
  double least = 0;
  for (index_t steps = 1; steps <= most; ++steps) {
    const Plan plan{best.grid, steps};
    const Forecast cost = forecast(request, plan, rank);
    if (steps > 1 && cost.seconds / static_cast<double>(cost.exchanges) > longest_stretch) break;
    if (steps > 1 && cost.seconds > least) continue;
    best = plan;
    least = cost.seconds;
  }
  return best;
}

}  // namespace tessera::inline v1::dist::stencil
