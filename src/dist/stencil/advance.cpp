// The distributed sweep: exchanges halos and computes stretches of steps, with overlap if
// requested.

#include "dist/stencil/advance.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "base/progress.hpp"
#include "dist/stencil/halo.hpp"
#include "dist/stencil/overlap.hpp"
#include "machine/device_times.hpp"

namespace tessera::inline v1::dist::stencil {
namespace {

template <class T>
void exchange(Halo<T>& halo, DistributedField<T>& u, const Method& method, mpi::Phases& phases) {
  const mpi::PhaseScope scope(phases, "exchange");
  halo.start(u, method.threads);
  halo.finish(u, method.threads);
}

template <class T>
void go(const Sweep<T>& sweep, const Method& method, mpi::Phases& phases) {
  const mpi::Computing computing;
  const Variant& kernel = method.kernel != nullptr ? *method.kernel : best(sweep);
  run(kernel, sweep, method.tuning);
  if (kernel.space == Space::device) {
    const machine::DeviceTimes times = machine::take_device_times();
    phases.add("to device", times.to_device);
    phases.add("device kernels", times.kernels);
    phases.add("from device", times.from_device);
  }
}

template <class T>
void compute(DistributedField<T>& u, index_t steps, const Method& method, mpi::Phases& phases) {
  const mpi::PhaseScope scope(phases, "compute");
  for (index_t field = 0; field < u.fields() && !u.box().empty(); ++field)
    go(u.sweep(steps, method.threads, field), method, phases);
}

/// Returns the sweep of a part of u in place; the surrounding points are its halo.
template <class T>
Sweep<T> interior_sweep(DistributedField<T>& u, index_t field, const Box3& interior, index_t steps,
                        int threads) {
  Sweep<T> sweep = u.sweep(steps, threads, field);
  for (GridView<T>& level : sweep.level) level = level.box(interior.low, interior.size());
  sweep.terms = sweep.terms.box(interior.low, interior.size());
  for (int d = 0; d < 3; ++d) sweep.origin[d] += interior.low[d];
  return sweep;
}

/// Overlaps exchange and arithmetic: computes the interior while the halo is in flight, then the
/// edges.
template <class T>
void overlapped(Halo<T>& halo, DistributedField<T>& u, const Split& parts, const Method& method,
                mpi::Phases& phases) {
  const index_t steps = halo.steps();
  std::vector<EdgeField<T>> edges;
  std::optional<mpi::InFlight> flight;
  {
    const mpi::PhaseScope scope(phases, "exchange");
    halo.start(u, method.threads);
    flight.emplace(phases);
  }
  {
    const mpi::PhaseScope scope(phases, "compute");
    for (index_t field = 0; field < u.fields(); ++field) {
      for (const Split::Edge& edge : parts.edges) {
        edges.emplace_back(u, field, edge.box, steps);
        edges.back().take(u);
      }
      go(interior_sweep(u, field, parts.interior, steps, method.threads), method, phases);
    }
  }
  {
    const mpi::PhaseScope scope(phases, "exchange");
    halo.finish(u, method.threads);
    flight.reset();
  }
  const mpi::PhaseScope scope(phases, "compute");
  for (EdgeField<T>& edge : edges) edge.take_halo(u);
  for (EdgeField<T>& edge : edges) {
    go(edge.sweep(method.threads), method, phases);
    edge.give(u);
  }
}

/// Returns the split of a rank's box for `steps` steps; a rank without edges or interior exchanges
/// before it computes.
template <class T>
Split parts_of(const DistributedField<T>& u, index_t rank, index_t steps) {
  if (u.box().empty()) return {};
  const Index3 radius = u.scheme().stencil.radius;
  return split(u.box().size(), edges_of(u.scheme(), u.grid(), rank),
               {{radius[0] * steps, radius[1] * steps, radius[2] * steps}});
}

}  // namespace

template <class T>
Traffic advance(const mpi::Communicator& comm, DistributedField<T>& u, index_t steps,
                const Method& method, mpi::Phases& phases) {
  require_argument(
      u.grid().ranks == comm.size(), "u",
      fmt::format("is distributed over {} ranks: comm has {}", u.grid().ranks, comm.size()));
  require_argument(
      u.box() == u.grid().of(comm.rank()), "u",
      fmt::format("does not have the box of rank {}: made for another rank", comm.rank()));
  require_argument(steps >= 0, "steps", fmt::format("is {}: must be at least 0", steps));
  require_argument(method.threads >= 1, "method.threads",
                   fmt::format("is {}: must be at least 1", method.threads));
  Traffic traffic;
  std::optional<Halo<T>> halo;
  // To the depth of the longest stretch: a shorter one would keep fewer of the values along
  // exchanged sides.
  for (index_t field = 0; field < u.fields() && !u.box().empty(); ++field)
    keep_given(u.sweep(u.halo_steps(), method.threads, field));
  for (index_t done = 0; done < steps;) {
    const index_t stretch = std::min(u.halo_steps(), steps - done);
    if (!halo || halo->steps() != stretch) halo.emplace(comm, u, stretch);
    const Split parts =
        method.overlap == Overlap::yes ? parts_of(u, comm.rank(), stretch) : Split{};
    if (!parts.edges.empty() && !parts.interior.empty()) {
      overlapped(*halo, u, parts, method, phases);
    } else {
      exchange(*halo, u, method, phases);
      compute(u, stretch, method, phases);
    }
    u.turn(stretch);
    done += stretch;
    work_done().steps += stretch;
    ++traffic.exchanges;
    traffic.messages += halo->messages();
  }
  return traffic;
}

#define TESSERA_INSTANTIATE(T)                                                                     \
  template Traffic advance(const mpi::Communicator&, DistributedField<T>&, index_t, const Method&, \
                           mpi::Phases&);
TESSERA_INSTANTIATE(Half)
TESSERA_INSTANTIATE(BFloat16)
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
#undef TESSERA_INSTANTIATE

}  // namespace tessera::inline v1::dist::stencil
