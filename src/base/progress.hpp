#pragma once
// A progress line on a terminal for long steps; no output elsewhere.

#include <string>

#include "base/timer.hpp"

namespace tessera {

/// Shows "name  42 %  3.1 s left" on stderr if that is a terminal and the step has taken over a
/// second. Only rank 0 should construct one with shown = yes.
class Progress {
 public:
  enum class Shown { no, yes };
  Progress(std::string name, double total, Shown shown);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void update(double done);

 private:
  std::string name_;
  double total_;
  bool enabled_;
  bool drawn_ = false;
  double last_ = 0;
  Timer timer_;
};

}  // namespace tessera
