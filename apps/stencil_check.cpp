#include <cmath>
#include <limits>

#include "stencil_stops.hpp"

namespace tessera::apps::stencil {

template <class T>
Check<T>::Check(const Point& point, const DistributedField<T>& u, index_t first, index_t last)
    : point_(point),
      u_(u),
      conserves_(!u.problem().terms.any() && conserves(u.problem().stencil, u.problem().sides)) {
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
  const auto begin = [&](std::vector<Samples>& samples, index_t steps, std::uint64_t seed) {
    for (index_t field = 0; field < u_.fields(); ++field)
      samples.emplace_back(point_.comm, u_, steps, point_.request.seed + seed, field);
  };
  const auto record = [&](std::vector<Samples>& samples) {
    for (Samples& of_field : samples) of_field.record(u_);
  };
  if (step == steps_[0] && early_.empty()) {
    if (conserves_) before_ = sums();
    begin(early_, steps_[1] - steps_[0], 0);
  }
  if (step == steps_[1]) record(early_);
  if (step == steps_[2] && steps_[3] > steps_[2]) begin(late_, steps_[3] - steps_[2], 1);
  if (step == steps_[3]) record(late_);
}

template <class T>
run::Verdict Check<T>::verdict() const {
  index_t wrong = 0;
  for (const Samples& samples : early_) wrong += samples.wrong();
  for (const Samples& samples : late_) wrong += samples.wrong();
  if (!conserves_ || wrong > 0) return {"samples", static_cast<double>(wrong), 0};
  const auto after = sums();
  const double terms = 1 + static_cast<double>(u_.problem().stencil.taps.size());
  const double roundings = 64 + static_cast<double>(steps_[3] - steps_[0]) * terms;
  double most = 0;
  for (std::size_t field = 0; field < after.size(); ++field) {
    const double allowed = roundings * static_cast<double>(std::numeric_limits<T>::epsilon()) *
                           std::max(before_[field].magnitude, after[field].magnitude);
    const double drift = std::abs(after[field].value - before_[field].value);
    const double ratio = drift == 0 ? 0 : drift / allowed;
    most = ratio <= most ? most : ratio;  // NaN stays
    if (!(ratio <= 1)) break;
  }
  return {"samples and sum", most, 1};
}

template <class T>
std::vector<tessera::stencil::Sum> Check<T>::sums() const {
  std::vector<tessera::stencil::Sum> all(static_cast<std::size_t>(u_.fields()));
  u_.bring();
  for (index_t field = 0; field < u_.fields(); ++field) {
    tessera::stencil::Sum mine;
    if (!u_.box().empty()) mine = tessera::stencil::sum<T>(u_.now(field));
    all[static_cast<std::size_t>(field)] = {point_.comm.sum(mine.value), point_.comm.sum(mine.magnitude)};
  }
  return all;
}

template class Check<float>;
template class Check<double>;

}  // namespace tessera::apps::stencil
