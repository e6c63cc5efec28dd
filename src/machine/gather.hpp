#pragma once
// Forks that nobody waits for before the end of all: of a fork_join whose left side somebody takes late, half
// of the work is left to that one alone, and the other waits.

#include "machine/fork_join.hpp"

namespace tessera::machine {

/// body() and all that it leaves by `leave`; who waits for the end takes any of that.
template <class Body>
void gather(const Body& body) {
  if (recorder() != nullptr || omp_get_num_threads() == 1) return body();
#pragma omp taskgroup
  body();
}

/// left() at any time before the gather() around it ends, right() now. left is copied.
template <class Left, class Right>
void leave(Left left, const Right& right) {
  if (recorder() != nullptr || omp_get_num_threads() == 1) return fork_join(left, right);
#pragma omp task default(shared) firstprivate(left)
  left();
  right();
}

}  // namespace tessera::machine
