#pragma once
// A sweep with stops: what looks at the field between steps.

#include <algorithm>
#include <limits>
#include <span>

#include "dist/stencil/advance.hpp"

namespace tessera::dist::stencil {

inline constexpr index_t never = std::numeric_limits<index_t>::max();

/// Something that wants to look at the field after some steps. Every rank has the same answers.
class Stop {
 public:
  Stop() = default;
  Stop(const Stop&) = delete;
  Stop& operator=(const Stop&) = delete;
  virtual ~Stop() = default;
  /// The first step from `step` on at which it wants to look; never.
  [[nodiscard]] virtual index_t next(index_t step) const = 0;
  /// After so many steps. Collective.
  virtual void at(index_t step) = 0;
};

/// advance(steps) takes a field, which is after `first` steps, to `last`; in between, and at both
/// ends, the stops in their order. Collective.
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

}  // namespace tessera::dist::stencil
