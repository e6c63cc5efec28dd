#pragma once
// Out-of-core sweeps on a device: plans that pass a box through it in slabs. Arithmetic only,
// tested without a device.

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "kernels/stencil/cuda_sweep.hpp"
#include "kernels/stencil/variants.hpp"

namespace tessera::inline v1::stencil {

/// The rates that a plan assumes, in bytes per second.
struct SlabRates {
  double bus = 20e9;     ///< each way while the other is busy, through pinned memory
  double memory = 2e12;  ///< of the device
};

/// A plan in rounds of some steps. In each round the box, as far as later rounds need it, is sent
/// to the device in slabs of one dimension, with the halos of their steps; the device computes the
/// steps, and the valid points are brought back in place.
struct SlabPlan {
  int d = 0;                    ///< the dimension that is cut
  index_t slabs = 1;            ///< per round
  std::vector<index_t> rounds;  ///< steps of each, which add up to the sweep's
  index_t places = 1;           ///< on the device: a slab is received, one is computed, one is sent
                                ///< back
  index_t elements = 0;         ///< of a level of a place
  index_t device_bytes = 0;     ///< of all places
  index_t sent_bytes = 0, brought_bytes = 0;
  double seconds = 0;  ///< estimated by the rates

  [[nodiscard]] index_t steps() const {
    return std::accumulate(rounds.begin(), rounds.end(), index_t{0});
  }
  [[nodiscard]] index_t longest() const {
    return rounds.empty() ? 0 : *std::max_element(rounds.begin(), rounds.end());
  }
  /// Returns whether the device holds the whole box at once.
  [[nodiscard]] bool whole() const { return slabs == 1; }
};

/// One slab in one round.
struct SlabTask {
  std::size_t round = 0;
  index_t steps = 0;
  Box3 out;                          ///< the points it computes, in local indices of the sweep
  bool first = false, last = false;  ///< of its round; of the last round
};

/// Returns the most steps of such a sweep that the kernel computes in a single pass.
template <class T>
[[nodiscard]] index_t steps_of_a_pass(const Sweep<T>& sweep, const DeviceKernel<T>& kernel,
                                      const Tuning& tuning);

/// Returns the plan of least time within device_bytes bytes of device memory; nullopt if not even
/// the thinnest slabs fit. pass_steps: steps per pass of the kernel.
template <class T>
[[nodiscard]] std::optional<SlabPlan> plan_slabs(const Sweep<T>& sweep, index_t device_bytes,
                                                 index_t pass_steps, const SlabRates& rates = {});
/// Returns the rates that the driver reports for this rank's device.
[[nodiscard]] SlabRates slab_rates();
/// Returns the plan for a kernel on this rank's device, within the tuning's limit. Throws
/// Error(memory) if no plan fits.
template <class T>
[[nodiscard]] SlabPlan plan_slabs(const Sweep<T>& sweep, const DeviceKernel<T>& kernel,
                                  const Tuning& tuning);

/// Returns all slabs of all rounds in order.
template <class T>
[[nodiscard]] std::vector<SlabTask> tasks_of(const Sweep<T>& sweep, const SlabPlan& plan);

/// Returns the sweep of a slab, whose levels alias those of the whole. Beyond the ends of a wrapped
/// dimension the halo is stored elsewhere.
template <class T>
[[nodiscard]] Sweep<T> slab_sweep(const Sweep<T>& sweep, const SlabTask& task);

/// Returns the last task of the previous round whose result a task reads; -1 if none.
template <class T>
[[nodiscard]] index_t last_read(const Sweep<T>& sweep, const SlabPlan& plan,
                                const std::vector<SlabTask>& tasks, std::size_t task);

}  // namespace tessera::inline v1::stencil
