// Verification of steps: recomputes samples of the first and of the last steps, and compares the
// sums of fields before and after if the stencil conserves them.

#include <cmath>
#include <limits>

#include "workloads/stencil/stops.hpp"

namespace tessera::inline v1::workloads::stencil {
namespace {

/// The tolerated drift of a field's sum over some steps, relative to its magnitude, and per value,
/// absolute.
struct Drift {
  double share, each;
};
template <class T>
Drift drift_of(double steps, double terms) {
  const double sums = (64 + steps * (1 + terms)) * std::numeric_limits<Arithmetic<T>>::epsilon();
  if constexpr (std::is_same_v<T, Half>)
    return {sums + steps * 0x1p-11,
            steps * 0x1p-25};  // half a unit in the last place of stored values
  return {sums, 0};
}

/// Returns whether values may become NaN or exceed the type's range, in a field that began with
/// this sum.
template <class T>
bool may_outgrow(const tessera::stencil::Sum& before, const tessera::stencil::Stencil& stencil,
                 double steps) {
  double growth = 0;  // maximal growth of the largest value in a step
  for (const auto& tap : stencil.taps) growth += std::abs(tap.weight);
  constexpr double largest =
      std::is_same_v<T, Half> ? 65504 : static_cast<double>(std::numeric_limits<T>::max());
  return !std::isfinite(before.magnitude) ||
         (before.magnitude > 0 &&
          std::log(before.magnitude) + steps * std::log(growth) > std::log(largest));
}

}  // namespace

template <class T>
Check<T>::Check(const Point& point, const DistributedField<T>& u, index_t first, index_t last,
                mpi::Phases& phases)
    : point_(point),
      u_(u),
      phases_(phases),
      conserves_(!u.scheme().terms.any() && conserves(u.scheme().stencil, u.scheme().sides)) {
  const index_t steps = last - first;
  const index_t followed =
      dist::stencil::sample_steps(u.scheme(), steps, std::min(steps, u.halo_steps()));
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
  const mpi::PhaseScope scope(phases_, "verify");
  const auto begin = [&](std::vector<Samples>& samples, index_t steps, std::uint64_t seed) {
    for (index_t field = 0; field < u_.fields(); ++field)
      samples.emplace_back(point_.comm, u_, steps, point_.problem.seed + seed, field);
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
  const tessera::stencil::Stencil& stencil = u_.scheme().stencil;
  const auto steps = static_cast<double>(steps_[3] - steps_[0]);
  const Drift drift = drift_of<T>(steps, static_cast<double>(stencil.taps.size()));
  const double small = drift.each * static_cast<double>(u_.scheme().global.volume());
  double most = 0;
  bool looked = false;
  for (std::size_t field = 0; field < after.size(); ++field) {
    if (!std::isfinite(after[field].magnitude) && may_outgrow<T>(before_[field], stencil, steps))
      continue;
    looked = true;
    const double allowed =
        drift.share * std::max(before_[field].magnitude, after[field].magnitude) + small;
    const double moved = std::abs(after[field].value - before_[field].value);
    const double ratio = moved == 0 ? 0 : moved / allowed;
    most = ratio <= most ? most : ratio;  // keeps NaN
    if (!(ratio <= 1)) break;
  }
  if (!looked) return {"samples", 0, 0};
  return {"samples and sum", most, 1};
}

template <class T>
std::vector<tessera::stencil::Sum> Check<T>::sums() const {
  std::vector<tessera::stencil::Sum> all(static_cast<std::size_t>(u_.fields()));
  u_.bring();
  for (index_t field = 0; field < u_.fields(); ++field) {
    tessera::stencil::Sum mine;
    if (!u_.box().empty()) mine = tessera::stencil::sum<T>(u_.now(field));
    all[static_cast<std::size_t>(field)] = {point_.comm.sum(mine.value),
                                            point_.comm.sum(mine.magnitude)};
  }
  return all;
}

template class Check<Half>;
template class Check<float>;
template class Check<double>;

}  // namespace tessera::inline v1::workloads::stencil
