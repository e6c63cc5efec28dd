#include <cmath>
#include <limits>

#include "stencil_stops.hpp"

namespace tessera::apps::stencil {

template <class T>
Check<T>::Check(const Point& point, const DistributedField<T>& u, index_t first, index_t last)
    : point_(point), u_(u), conserves_(conserves(u.problem().stencil, u.problem().sides)) {
  const index_t steps = last - first;
  const index_t followed = dist::stencil::sample_steps(u.problem().stencil, std::min(steps, u.halo_steps()));
  const index_t late = std::min(followed, steps - followed);
  steps_ = {first, first + followed, last - late, last};
}

template <class T>
index_t Check<T>::next(index_t step) const {
  for (const index_t mine : steps_) {
    if (mine >= step) return mine;
  }
  return dist::stencil::never;
}

template <class T>
void Check<T>::at(index_t step) {
  const auto begin = [&](std::optional<Samples>& samples, index_t steps, std::uint64_t seed) {
    samples.emplace(point_.comm, u_, steps, point_.request.seed + seed);
  };
  if (step == steps_[0] && !early_) {
    if (conserves_) before_ = sum();
    begin(early_, steps_[1] - steps_[0], 0);
  }
  if (step == steps_[1]) early_->record(u_);
  if (step == steps_[2] && steps_[3] > steps_[2]) begin(late_, steps_[3] - steps_[2], 1);
  if (step == steps_[3] && late_) late_->record(u_);
}

template <class T>
run::Verdict Check<T>::verdict() const {
  const index_t wrong = early_->wrong() + (late_ ? late_->wrong() : 0);
  if (!conserves_ || wrong > 0) return {"samples", static_cast<double>(wrong), 0};
  const auto after = sum();
  const double terms = 1 + static_cast<double>(u_.problem().stencil.taps.size());
  const double roundings = 64 + static_cast<double>(steps_[3] - steps_[0]) * terms;
  const double allowed = roundings * static_cast<double>(std::numeric_limits<T>::epsilon()) *
                         std::max(before_.magnitude, after.magnitude);
  const double drift = std::abs(after.value - before_.value);
  return {"samples and sum", drift == 0 ? 0 : drift / allowed, 1};
}

template <class T>
tessera::stencil::Sum Check<T>::sum() const {
  tessera::stencil::Sum all;
  if (!u_.box().empty()) all = tessera::stencil::sum<T>(u_.now());
  return {point_.comm.sum(all.value), point_.comm.sum(all.magnitude)};
}

template class Check<float>;
template class Check<double>;

}  // namespace tessera::apps::stencil
