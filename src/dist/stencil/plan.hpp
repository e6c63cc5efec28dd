#pragma once
// Which grid, how many steps between two exchanges, and what that costs every rank: arithmetic
// only, the same on every rank.

#include <optional>
#include <vector>

#include "dist/stencil/scheme.hpp"
#include "kernels/stencil/slabs.hpp"
#include "layout/grid_layout.hpp"
#include "mpi/network.hpp"

namespace tessera::dist::stencil {

/// What the machine does, for one rank. Without measurements: a common machine of 2020.
struct Rates {
  double memory = 10e9;  ///< bytes a second, read and written
  mpi::Network network = {};
  bool measured = false;
};

struct PlanRequest {
  Scheme scheme;
  index_t element_bytes = 8;
  index_t steps = 1;
  index_t ranks = 1;
  int threads = 1;
  index_t halo_steps = 0;            ///< most steps between two exchanges; 0: as is fastest
  std::optional<Index3> parts = {};  ///< nothing: the grid with the least halo
  bool overlap = false;              ///< edges are copied while the interior is computed
  bool blocks_time = true;           ///< the kernel keeps data in cache over several steps
  index_t cache_bytes = 0;           ///< of this rank's share of the last cache
  Rates rates = {};
  index_t fields = 1;         ///< that go the same way at once
  index_t pass_steps = 0;     ///< on devices: what their kernel takes in one pass
  index_t device_memory = 0;  ///< of a rank, for fields on the host that go through devices
  tessera::stencil::SlabRates device_rates = {};  ///< of those
  std::vector<double> weights =
      {};  ///< updates a second of every rank, by which boxes go; empty: all alike

  [[nodiscard]] bool weighted() const { return static_cast<index_t>(weights.size()) == ranks; }
};

struct Plan {
  layout::GridLayout grid;
  index_t halo_steps = 1;
};

/// Throws Error(usage) naming the argument for sizes that are none, and when the parts asked for
/// are more than the ranks, or shorter than the stencil reaches.
[[nodiscard]] Plan make_plan(const PlanRequest& request);

/// The most steps whose halo every box of the grid can give.
[[nodiscard]] index_t deepest(const Scheme& scheme, const layout::GridLayout& grid);

/// Elements of one field, of both levels where there are two, that a rank sends in an exchange of
/// so many steps.
[[nodiscard]] index_t sent_elements(const Scheme& scheme, const layout::GridLayout& grid,
                                    index_t rank, index_t steps);
/// Bytes of a rank's room in the memory that a node's ranks share (halo_window.hpp).
[[nodiscard]] index_t window_bytes(const PlanRequest& request, const Plan& plan, index_t rank);

/// What one rank holds, moves and computes over all steps.
struct Forecast {
  index_t exchanges = 0;
  index_t messages = 0;  ///< received
  index_t received_bytes = 0;
  double updates = 0;  ///< points computed, those of the halo again and again
  double seconds = 0;
  double exchange_seconds = 0;  ///< of them: messages on their way
  index_t field_bytes = 0;      ///< both levels with their ghost layers
  index_t buffer_bytes = 0;     ///< of messages
  [[nodiscard]] index_t memory() const { return field_bytes + buffer_bytes; }
};
[[nodiscard]] Forecast forecast(const PlanRequest& request, const Plan& plan, index_t rank);

}  // namespace tessera::dist::stencil
