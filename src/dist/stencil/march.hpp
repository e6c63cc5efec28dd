#pragma once
// A sweep with stops: observers of the field between steps.

#include <algorithm>
#include <limits>
#include <span>

#include "dist/stencil/advance.hpp"

namespace tessera::inline v1::dist::stencil {

inline constexpr index_t never = std::numeric_limits<index_t>::max();

/// An observer that reads the field after some steps. Every rank must return the same answers.
class Stop {
 public:
  Stop() = default;
  Stop(const Stop&) = delete;
  Stop& operator=(const Stop&) = delete;
  virtual ~Stop() = default;
  /// Returns the first step, `step` or later, at which it observes; `never` if none.
  [[nodiscard]] virtual index_t next(index_t step) const = 0;
  /// Observes the field after `step` steps. Collective.
  virtual void at(index_t step) = 0;
};

/// Advances a field from step `first` to `last` by calls of advance(steps); calls the stops in
/// order, in between and at both ends. Collective.
template <class Advance>
Traffic march(index_t first, index_t last, std::span<Stop* const> stops, const Advance& advance) {
  Traffic traffic;
  for (index_t step = first;;) {
    for (Stop* stop : stops) {
      if (stop->next(step) == step) stop->at(step);
    }
    if (step == last) return traffic;
    index_t end = last;
    for (const Stop* stop : stops) end = std::min(end, stop->next(step + 1));
    traffic += advance(end - step);
    step = end;
  }
}

}  // namespace tessera::inline v1::dist::stencil
