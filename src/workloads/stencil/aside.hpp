#pragma once
// The stops of a repetition, excluded from its time.

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "workloads/stencil/stops.hpp"

namespace tessera::inline v1::workloads::stencil {

/// The stops of a repetition and their results.
template <class T>
struct Stops {
  std::optional<Check<T>> check;
  std::optional<Snapshots<T>> snapshots;
  std::optional<Checkpoints<T>> checkpoints;
  std::optional<Series<T>> series;

  [[nodiscard]] std::vector<Stop*> all() {
    std::vector<Stop*> result;
    if (check) result.push_back(&*check);
    if (snapshots) result.push_back(&*snapshots);
    if (series) result.push_back(&*series);
    if (checkpoints) result.push_back(&*checkpoints);
    return result;
  }
};

/// All stops as one, which pauses the clock of the repetition.
class Aside : public Stop {
 public:
  Aside(run::Clock& clock, std::vector<Stop*> stops) : clock_(clock), stops_(std::move(stops)) {}
  [[nodiscard]] index_t next(index_t step) const override {
    index_t first = dist::stencil::never;
    for (const Stop* stop : stops_) first = std::min(first, stop->next(step));
    return first;
  }
  void at(index_t step) override {
    clock_.aside([&] {
      for (Stop* stop : stops_) {
        if (stop->next(step) == step) stop->at(step);
      }
    });
  }

 private:
  run::Clock& clock_;
  std::vector<Stop*> stops_;
};

}  // namespace tessera::inline v1::workloads::stencil
