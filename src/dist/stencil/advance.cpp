#include "dist/stencil/advance.hpp"

#include <algorithm>
#include <optional>

#include "dist/stencil/halo.hpp"

namespace tessera::dist::stencil {
namespace {

template <class T>
void exchange(Halo<T>& halo, DistributedField<T>& u, const Method& method, mpi::Phases& phases) {
  const mpi::PhaseScope scope(phases, "exchange");
  halo.start(u, method.threads);
  halo.finish(u, method.threads);
}

template <class T>
void compute(DistributedField<T>& u, index_t steps, const Method& method, mpi::Phases& phases) {
  const mpi::PhaseScope scope(phases, "compute");
  if (!u.box().empty()) {
    const mpi::Computing computing;
    const Sweep<T> sweep = u.sweep(steps, method.threads);
    run(method.kernel != nullptr ? *method.kernel : best(sweep), sweep, method.tuning);
  }
  u.turn(steps);
}

}  // namespace

template <class T>
Traffic advance(const mpi::Communicator& comm, DistributedField<T>& u, index_t steps, const Method& method,
                mpi::Phases& phases) {
  Traffic traffic;
  std::optional<Halo<T>> halo;
  for (index_t done = 0; done < steps;) {
    const index_t stretch = std::min(u.halo_steps(), steps - done);
    if (!halo || halo->steps() != stretch) halo.emplace(comm, u, stretch);
    exchange(*halo, u, method, phases);
    compute(u, stretch, method, phases);
    done += stretch;
    ++traffic.exchanges;
    traffic.messages += halo->messages();
  }
  return traffic;
}

#define TESSERA_INSTANTIATE(T)                                                                     \
  template Traffic advance(const mpi::Communicator&, DistributedField<T>&, index_t, const Method&, \
                           mpi::Phases&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
#undef TESSERA_INSTANTIATE

}  // namespace tessera::dist::stencil
