// Splitters by histograms of digits: narrows all bounds by one digit per round.

#include "dist/sort/bounds.hpp"

#include <algorithm>
#include <limits>

namespace tessera::inline v1::dist::sort {
namespace {

using tessera::sort::digit_length;
using tessera::sort::digit_values;

template <class B>
constexpr int width = std::numeric_limits<B>::digits;

constexpr std::uint64_t all_ties = std::numeric_limits<std::uint64_t>::max();

}  // namespace

bool in_order(std::span<const Ends> ranks) {
  std::uint64_t before = 0;
  for (const Ends& one : ranks) {
    if (one.keys == 0) continue;
    if (one.descends != 0 || one.first < before) return false;
    before = one.last;
  }
  return true;
}

template <class B>
BoundSearch<B>::BoundSearch(std::vector<index_t> targets, index_t total, index_t tolerance)
    : tolerance_(tolerance) {
  for (const index_t target : targets) {
    Bound bound;
    bound.target = target;
    bound.found = bound.everything = target >= total;
    bounds_.push_back(bound);
  }
}

template <class B>
bool BoundSearch<B>::done() const {
  return std::all_of(bounds_.begin(), bounds_.end(),
                     [](const Bound& bound) { return bound.found; });
}

template <class B>
Prefixes<B> BoundSearch<B>::wanted() const {
  Prefixes<B> prefixes;
  prefixes.count = 0;
  prefixes.known = known_;
  for (const Bound& bound : bounds_) {  // ascending, so equal ones are adjacent
    if (bound.found) continue;
    if (prefixes.count > 0 && prefixes.bits[prefixes.count - 1] == bound.prefix) continue;
    prefixes.bits[prefixes.count++] = bound.prefix;
  }
  return prefixes;
}

template <class B>
std::size_t BoundSearch<B>::number_of(const Prefixes<B>& prefixes, B prefix) const {
  return static_cast<std::size_t>(std::find(prefixes.bits, prefixes.bits + prefixes.count, prefix) -
                                  prefixes.bits);
}

template <class B>
void BoundSearch<B>::refine(std::span<const index_t> all, std::span<const index_t> mine) {
  const Prefixes<B> prefixes = wanted();
  const int length = digit_length(width<B>, known_);
  for (Bound& bound : bounds_) {
    if (bound.found) continue;
    std::size_t bin = number_of(prefixes, bound.prefix) * static_cast<std::size_t>(digit_values);
    B digit = 0;
    // The target is below the number of keys up to the last digit, so the loop ends at the digit
    // that holds it.
    for (; bound.below + all[bin] <= bound.target; ++bin, ++digit) {
      bound.below += all[bin];
      bound.mine_below += mine[bin];
    }
    bound.in = all[bin];
    bound.mine_in = mine[bin];
    bound.prefix =
        static_cast<B>((known_ == 0 ? B{0} : static_cast<B>(bound.prefix << length)) | digit);
  }
  known_ += length;
  for (Bound& bound : bounds_)
    if (!bound.found) settle(bound);
}

/// Settles at the nearer end once few enough keys are in doubt; among equal keys finish() cuts.
template <class B>
void BoundSearch<B>::settle(Bound& bound) const {
  const int rest = width<B> - known_;
  const bool few = bound.in <= tolerance_;
  if (!few && rest > 0) return;
  bound.found = true;
  bound.at = rest == 0 ? bound.prefix : static_cast<B>(bound.prefix << rest);
  if (!few) return;
  const bool upper = bound.target - bound.below > bound.in / 2;
  if (upper) {
    bound.below += bound.in;
    bound.mine_below += bound.mine_in;
    const bool last = bound.prefix == static_cast<B>(static_cast<B>(~B{0}) >> rest);
    bound.everything = last;
    bound.at = last ? static_cast<B>(0) : static_cast<B>(bound.at + (B{1} << rest));
  }
  bound.in = bound.mine_in = 0;
  bound.target = bound.below;  // the achieved number replaces the target
}

template <class B>
auto BoundSearch<B>::finish(const mpi::Communicator& comm, index_t n) const -> FoundBounds {
  std::vector<index_t> before;
  for (const Bound& bound : bounds_) before.push_back(bound.mine_in);
  if (!before.empty()) comm.sum_before(before);
  FoundBounds found;
  found.bounds.count = static_cast<int>(bounds_.size());
  for (std::size_t s = 0; s < bounds_.size(); ++s) {
    const Bound& bound = bounds_[s];
    const index_t ties =
        std::clamp<index_t>(bound.target - bound.below - before[s], index_t{0}, bound.mine_in);
    found.bounds.at[s] = bound.everything ? static_cast<B>(~B{0}) : bound.at;
    found.bounds.ties[s] = bound.everything ? all_ties : static_cast<std::uint64_t>(ties);
    found.below.push_back(bound.everything ? n : bound.mine_below + ties);
  }
  return found;
}

template class BoundSearch<std::uint32_t>;
template class BoundSearch<std::uint64_t>;

}  // namespace tessera::inline v1::dist::sort
