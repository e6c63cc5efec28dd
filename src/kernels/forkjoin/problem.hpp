#pragma once
// The interface of a probe of the task runtime with its data.

#include "base/index.hpp"

namespace tessera::inline v1::forkjoin {

class Problem {
 public:
  Problem() = default;
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;
  virtual ~Problem() = default;

  /// Restores the data as before the first run; not timed.
  virtual void prepare() {}
  /// Forks into the enclosing team.
  virtual void run() = 0;
  /// Returns the number of wrong results of the last run; NaN counts as one.
  [[nodiscard]] virtual index_t mistakes() const = 0;
};

}  // namespace tessera::inline v1::forkjoin
