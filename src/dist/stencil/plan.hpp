#pragma once
// Planning of the grid and the steps between two exchanges, and the cost for every rank: arithmetic
// only, the same on every rank.

#include <optional>
#include <vector>

#include "dist/stencil/scheme.hpp"
#include "kernels/stencil/slabs.hpp"
#include "layout/grid_layout.hpp"
#include "mpi/network.hpp"

namespace tessera::inline v1::dist::stencil {

/// Rates of the machine, for one rank. Defaults, if not measured: a common machine of 2020.
struct Rates {
  double memory = 10e9;  ///< bandwidth in bytes per second, read and written
  mpi::Network network = {};
  bool measured = false;
};

struct PlanRequest {
  Scheme scheme;
  index_t element_bytes = 8;
  index_t steps = 1;
  index_t ranks = 1;
  int threads = 1;
  index_t halo_steps = 0;            ///< most steps between two exchanges; 0: the fastest
  std::optional<Index3> parts = {};  ///< empty: the grid with the smallest halo
  bool overlap = false;              ///< edges are copied while the interior is computed
  bool blocks_time = true;  ///< the kernel keeps data in cache over several steps (time blocking)
  index_t cache_bytes = 0;  ///< of this rank's share of the last-level cache
  Rates rates = {};
  index_t fields = 1;         ///< advanced together
  index_t pass_steps = 0;     ///< on devices: steps of their kernel in one pass
  index_t device_memory = 0;  ///< of a rank, for fields on the host that are processed on devices
  tessera::stencil::SlabRates device_rates = {};  ///< of those
  std::vector<double> weights =
      {};  ///< updates per second of every rank, in proportion to which boxes are cut; empty: equal

  [[nodiscard]] bool weighted() const { return static_cast<index_t>(weights.size()) == ranks; }
};

struct Plan {
  layout::GridLayout grid;
  index_t halo_steps = 1;
};

/// Plans grid and halo steps. Throws Error(usage) that names the argument for invalid sizes, and if
/// the requested parts are more than the ranks, or shorter than the stencil's radius.
[[nodiscard]] Plan make_plan(const PlanRequest& request);

/// Returns the most steps whose halo every box of the grid can provide.
[[nodiscard]] index_t deepest(const Scheme& scheme, const layout::GridLayout& grid);

/// Returns the elements of one field, of both levels if there are two, that a rank sends in an
/// exchange of `steps` steps.
[[nodiscard]] index_t sent_elements(const Scheme& scheme, const layout::GridLayout& grid,
                                    index_t rank, index_t steps);
/// Returns the bytes of a rank's buffers in the node's shared memory (halo_window.hpp).
[[nodiscard]] index_t window_bytes(const PlanRequest& request, const Plan& plan, index_t rank);

/// Memory, traffic and arithmetic of one rank over all steps.
struct Forecast {
  index_t exchanges = 0;
  index_t messages = 0;  ///< received
  index_t received_bytes = 0;
  double updates = 0;  ///< computed points, including recomputed points of the halo
  double seconds = 0;
  double exchange_seconds = 0;  ///< of them: messages in flight
  index_t field_bytes = 0;      ///< both levels with their ghost layers
  index_t buffer_bytes = 0;     ///< of messages
  [[nodiscard]] index_t memory() const { return field_bytes + buffer_bytes; }
};
[[nodiscard]] Forecast forecast(const PlanRequest& request, const Plan& plan, index_t rank);

}  // namespace tessera::inline v1::dist::stencil
