#pragma once
// A sweep of a box that a device does not hold goes through it in slabs: arithmetic only, tested
// without one.

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "kernels/stencil/cuda_sweep.hpp"
#include "kernels/stencil/variants.hpp"

namespace tessera::stencil {

/// What a plan takes the machine for: bytes a second.
struct SlabRates {
  double bus = 20e9;     ///< each way while the other is used, by way of pinned memory
  double memory = 2e12;  ///< of the device
};

/// Rounds of some steps. In each of them the box, as far as the rounds after it need it, goes to
/// the device in slabs of one dimension, with all that their steps read around them; the steps are
/// done there, and what is right after them comes back, to where it was.
struct SlabPlan {
  int d = 0;                    ///< the dimension that is cut
  index_t slabs = 1;            ///< of a round
  std::vector<index_t> rounds;  ///< steps of each, which add up to the sweep's
  index_t places = 1;           ///< on the device: a slab arrives, one is computed, one leaves
  index_t elements = 0;         ///< of a level of a place
  index_t device_bytes = 0;     ///< of all places
  index_t sent_bytes = 0, brought_bytes = 0;
  double seconds = 0;  ///< by the rates

  [[nodiscard]] index_t steps() const {
    return std::accumulate(rounds.begin(), rounds.end(), index_t{0});
  }
  [[nodiscard]] index_t longest() const {
    return rounds.empty() ? 0 : *std::max_element(rounds.begin(), rounds.end());
  }
  /// The device holds all of it at once.
  [[nodiscard]] bool whole() const { return slabs == 1; }
};

/// One slab in one round.
struct SlabTask {
  std::size_t round = 0;
  index_t steps = 0;
  Box3 out;                          ///< what it computes, in local indices of the sweep
  bool first = false, last = false;  ///< of its round; of the last round
};

/// The most steps of such a sweep that the kernel takes in a single pass.
template <class T>
[[nodiscard]] index_t steps_of_a_pass(const Sweep<T>& sweep, const DeviceKernel<T>& kernel,
                                      const Tuning& tuning);

/// The plan that takes least time within so many bytes of the device's memory; none where not even
/// the thinnest slabs have room. pass_steps: that the kernel takes in one.
template <class T>
[[nodiscard]] std::optional<SlabPlan> plan_slabs(const Sweep<T>& sweep, index_t device_bytes,
                                                 index_t pass_steps, const SlabRates& rates = {});
/// What the driver tells of this rank's device.
[[nodiscard]] SlabRates slab_rates();
/// That of a kernel on this rank's device, within what the tuning says. Throws Error(memory) where
/// there is none.
template <class T>
[[nodiscard]] SlabPlan plan_slabs(const Sweep<T>& sweep, const DeviceKernel<T>& kernel,
                                  const Tuning& tuning);

/// All slabs of all rounds in their order.
template <class T>
[[nodiscard]] std::vector<SlabTask> tasks_of(const Sweep<T>& sweep, const SlabPlan& plan);

/// The sweep of a slab, its levels those of the whole. Beyond the ends of a dimension that is
/// wrapped its halo lies elsewhere.
template <class T>
[[nodiscard]] Sweep<T> slab_sweep(const Sweep<T>& sweep, const SlabTask& task);

/// The last task whose result a task reads, of those in the round before its own; -1: none.
template <class T>
[[nodiscard]] index_t last_read(const Sweep<T>& sweep, const SlabPlan& plan,
                                const std::vector<SlabTask>& tasks, std::size_t task);

}  // namespace tessera::stencil
