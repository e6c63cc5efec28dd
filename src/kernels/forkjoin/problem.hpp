#pragma once
// What a probe of the task runtime computes, with its data.

#include "base/index.hpp"

namespace tessera::forkjoin {

class Problem {
 public:
  Problem() = default;
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;
  virtual ~Problem() = default;

  /// The data as before the first run; not part of what is timed.
  virtual void prepare() {}
  /// Forks into the team it is called in.
  virtual void run() = 0;
  /// Wrong results of the last run; NaN counts as one.
  [[nodiscard]] virtual index_t mistakes() const = 0;
};

}  // namespace tessera::forkjoin
