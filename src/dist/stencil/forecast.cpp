// Forecast of a sweep's memory, traffic and time, from overlapped memory traffic and arithmetic.

#include <algorithm>
#include <cmath>
#include <limits>

#include "dist/stencil/field.hpp"
#include "dist/stencil/plan.hpp"

namespace tessera::inline v1::dist::stencil {
namespace {

/// Returns the distance between ranks, around the end of the ranks if that is shorter.
index_t shortest(index_t distance, index_t ranks) {
  if (2 * distance > ranks) return distance - ranks;
  return 2 * distance < -ranks ? distance + ranks : distance;
}

/// Returns the points computed in `steps` steps after one exchange: every step needs one radius
/// less of the halo.
double updates(const Scheme& scheme, const Edges& edges, const Box3& box, index_t steps) {
  double sum = 0;
  for (index_t s = 0; s < steps; ++s) {
    double points = 1;
    for (int d = 0; d < 3; ++d) {
      index_t n = box.size()[d];
      for (const Edge edge : edges[static_cast<std::size_t>(d)])
        n += edge == Edge::exchanged ? scheme.stencil.radius[d] * (steps - 1 - s) : 0;
      points *= static_cast<double>(n);
    }
    sum += points;
  }
  return sum;
}

/// Returns the seconds of a stretch on a device, bound by its memory: computes the interior while
/// the halo is in flight. The edges of several passes wait for the halo.
double device_seconds(const PlanRequest& request, double points, index_t steps, double travel) {
  constexpr double launch = 4e-6;
  const double levels = request.scheme.stencil.two_levels() ? 3 : 2;
  const auto passes = static_cast<double>(ceil_div(steps, request.pass_steps));
  const double pass = points / static_cast<double>(steps) * levels *
                      static_cast<double>(request.element_bytes) / request.rates.memory;
  const double edges = passes > 1 && travel > 0 ? 2 * passes * launch : 0;
  return std::max(passes * std::max(pass, launch), travel) + edges + launch;
}

/// Returns f(T{}) for the type of fields with elements of that size.
template <class F>
auto of_size(index_t element_bytes, const F& f) {
  return element_bytes == 2 ? f(Half{}) : element_bytes == 4 ? f(float{}) : f(double{});
}

/// Returns the seconds of a stretch whose fields are copied from and to the host, one after the
/// other.
double streamed_seconds(const PlanRequest& request, const Box3& box, index_t steps) {
  const auto seconds = [&]<class T>(T) {
    const auto plan = plan_slabs(shape_of<T>(request.scheme, box, steps), request.device_memory,
                                 request.pass_steps, request.device_rates);
    return plan ? plan->seconds : std::numeric_limits<double>::max();
  };
  return static_cast<double>(request.fields) * of_size(request.element_bytes, seconds);
}

/// Returns the seconds of one update. A plain sweep overlaps memory traffic and arithmetic except
/// for a part of the smaller. Time blocking reads memory once per block of steps and computes in
/// cache in between. One rank of two, 8192 x 8192 f64 in 2, 4, 8, 16 and 64 steps an exchange:
/// 0.55, 0.41, 0.32, 0.27 and 0.25 ns a point.
double seconds_per_update(const PlanRequest& request, const Box3& box, index_t steps) {
  const Stencil& stencil = request.scheme.stencil;
  const index_t terms = request.scheme.terms.count();
  const double levels = (stencil.two_levels() ? 3 : 2) + static_cast<double>(terms);
  const auto bytes = static_cast<double>(request.element_bytes);
  const bool in_cache = (2 + terms) * box.volume() * request.element_bytes <= request.cache_bytes;
  // Assumes that a cache has four times the bandwidth of memory.
  const double moved = levels * bytes / request.rates.memory * (in_cache ? 0.25 : 1);
  // In cache the vector kernels take 0.06 ns a term and core in f64 (Zen 4); a box sums by
  // doubling.
  constexpr double seconds_per_term = 0.06e-9;
  const double sums = stencil.form == tessera::stencil::Form::box
                          ? 2 * static_cast<double>(2 * stencil.radius[2] + 1)
                          : static_cast<double>(stencil.taps.size());
  const double computed = sums * std::max(bytes, 4.0) / 8 * seconds_per_term / request.threads;
  if (!request.blocks_time || steps == 1) return std::hypot(moved, computed);
  return moved / static_cast<double>(steps) + computed;
}

}  // namespace

index_t sent_elements(const Scheme& scheme, const layout::GridLayout& grid, index_t rank,
                      index_t steps) {
  index_t elements = 0;
  for (const auto& piece :
       halo_sends(grid, rank, times(scheme.stencil.radius, steps), scheme.periodic()))
    elements += piece.box.volume();
  return elements * (scheme.stencil.two_levels() ? 2 : 1);
}

index_t window_bytes(const PlanRequest& request, const Plan& plan, index_t rank) {
  return 2 * sent_elements(request.scheme, plan.grid, rank, plan.halo_steps) * request.fields *
         request.element_bytes;
}

Forecast forecast(const PlanRequest& request, const Plan& plan, index_t rank) {
  Forecast result;
  const Box3 box = plan.grid.of(rank);
  if (box.empty()) return result;
  const Scheme& scheme = request.scheme;
  const Edges edges = edges_of(scheme, plan.grid, rank);
  const index_t levels = (scheme.stencil.two_levels() ? 2 : 1) * request.fields;
  const auto add = [&](index_t steps, index_t count) {
    index_t bytes = 0;
    std::vector<mpi::Sent> sent;  // equal to what is received
    for (const auto& piece :
         halo_receives(plan.grid, rank, times(scheme.stencil.radius, steps), scheme.periodic())) {
      sent.push_back({shortest(piece.peer - rank, request.ranks),
                      levels * piece.box.volume() * request.element_bytes});
      bytes += sent.back().bytes;
    }
    const auto messages = static_cast<index_t>(sent.size());
    const double points = static_cast<double>(request.fields) * updates(scheme, edges, box, steps);
    result.exchanges += count;
    result.messages += count * messages;
    result.received_bytes += count * bytes;
    result.buffer_bytes =
        std::max(result.buffer_bytes, 3 * bytes);  // in a window twice what is sent
    result.updates += static_cast<double>(count) * points;
    // Ranks are never exactly in step: an exchange waits some microseconds for its slowest
    // neighbour.
    constexpr double out_of_step = 5e-6;
    const double travel = among_neighbours(request.rates.network, sent);
    const double packed =
        4 * static_cast<double>(bytes) / request.rates.memory;  // read and written, twice
    const double waited = messages == 0 ? 0 : out_of_step;
    result.exchange_seconds += static_cast<double>(count) * travel;
    const bool streams = request.device_memory > 0;
    const auto computed = [&] {
      if (request.weighted()) return points / request.weights[static_cast<std::size_t>(rank)];
      return streams ? streamed_seconds(request, box, steps)
                     : points * seconds_per_update(request, box, steps);
    };
    result.seconds += static_cast<double>(count) *
                      (request.pass_steps > 0 && !streams
                           ? device_seconds(request, points, steps, messages > 0 ? travel : 0)
                           : computed() + packed + waited + travel);
  };
  if (request.steps >= plan.halo_steps) add(plan.halo_steps, request.steps / plan.halo_steps);
  if (request.steps % plan.halo_steps > 0) add(request.steps % plan.halo_steps, 1);
  result.field_bytes = of_size(request.element_bytes, [&]<class T>(T) {
    return field_bytes<T>(scheme, plan.grid, rank, plan.halo_steps, request.fields);
  });
  if (request.overlap) {  // three halos deep on every exchanged side, two levels
    for (int d = 0; d < 3; ++d) {
      const index_t layers = box.size()[d] == 0 ? 0 : box.volume() / box.size()[d];
      for (const Edge edge : edges[static_cast<std::size_t>(d)]) {
        if (edge == Edge::exchanged)
          result.buffer_bytes += 2 * 3 * request.fields * scheme.stencil.radius[d] *
                                 plan.halo_steps * layers * request.element_bytes;
      }
    }
  }
  return result;
}

}  // namespace tessera::inline v1::dist::stencil
