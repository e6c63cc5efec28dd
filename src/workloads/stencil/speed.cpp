// Measures the sweep throughput of this rank, for shares by speed.

#include <algorithm>

#include "base/timer.hpp"
#include "workloads/stencil/problem.hpp"

namespace tessera::inline v1::workloads::stencil {
namespace {

constexpr index_t most_points = index_t{1} << 24;  // larger than the caches
constexpr double most_updates = 1 << 28;           // points times steps

/// Returns the extent of an equal share of the field, or of a smaller one.
Index3 sample_of(const Problem& problem) {
  Index3 extent = problem.scheme().global;
  const auto longest = [&] {
    int most = 0;
    for (int d = 1; d < 3; ++d) most = extent[d] > extent[most] ? d : most;
    return most;
  };
  extent[longest()] = ceil_div(extent[longest()], problem.shape.ranks);
  while (extent.volume() > most_points) extent[longest()] = ceil_div(extent[longest()], index_t{2});
  return extent;
}

template <class T>
void fill(const GridView<T>& u) {
  for (index_t z = 0; z < u.extent[0]; ++z) {
    for (index_t y = 0; y < u.extent[1]; ++y) std::fill_n(u.row(z, y), u.extent[2], T{1});
  }
}

template <class T>
double speed(const Problem& problem) {
  dist::stencil::Scheme scheme = problem.scheme();
  scheme.global = sample_of(problem);
  scheme.terms = {};
  const auto points = static_cast<double>(scheme.global.volume());
  const index_t stretch =
      std::clamp<index_t>(problem.plan.halo_steps, 1, std::max<index_t>(1, problem.shape.steps));
  const index_t steps =
      std::clamp<index_t>(static_cast<index_t>(most_updates / std::max(points, 1.0)), 1, stretch);
  dist::stencil::DistributedField<T> u(scheme, {scheme.global}, 0, steps);
  if (u.box().empty()) return 1;
  auto method = problem.method;
  method.overlap = dist::stencil::Overlap::no;
  double best = 0;
  for (int turn = 0; turn < 2; ++turn) {  // the first one starts libraries and a device
    fill(u.now());
    fill(u.past());
    mpi::Phases phases;
    const Timer timer;
    advance(mpi::Communicator::self(), u, steps, method, phases);
    const double seconds = timer.seconds(), kernels = phases.of("device kernels");
    // The transfer to a device and back is independent of the number of steps.
    const double each = (kernels > 0 ? kernels : seconds) / static_cast<double>(steps);
    best = std::max(best, points * static_cast<double>(stretch) /
                              (seconds + static_cast<double>(stretch - steps) * each));
  }
  return best;
}

}  // namespace

double speed_of(const Problem& problem) {
  return dispatch_kept(problem.element, [&]<class T>(Type<T>) { return speed<T>(problem); });
}

}  // namespace tessera::inline v1::workloads::stencil
