#pragma once
// The halo exchange alone: ghost layers of fields in the caller's memory, for steps in the caller's
// own code.

#include <memory>
#include <span>

#include "base/grid_view.hpp"
#include "dist/stencil/scheme.hpp"
#include "layout/grid_layout.hpp"
#include "machine/fork_join.hpp"
#include "mpi/communicator.hpp"

namespace tessera::inline v1::dist::stencil {

/// Ghost layers around the boxes of a grid.
struct HaloShape {
  layout::GridLayout grid;
  Index3 widths;  ///< layers on both sides of a box, by dimension (z, y, x); 0: none
  Sides sides = tessera::stencil::all_sides({});  ///< what the layers outside of the field hold
};

/// An exchange of ghost layers that is planned once and executed many times. Executions allocate
/// nothing; they must be in the same order on all ranks as those of other plans of the
/// communicator. T is Half, float, double, std::int32_t, std::int64_t, Complex or std::complex of
/// float or double.
template <class T>
class HaloPlan {
 public:
  /// Plans the exchange for `fields` fields at once, in one message a pair of ranks, and allocates
  /// buffer_bytes(). Throws Error(usage), naming the argument, on all ranks for a grid of other
  /// ranks, a box thinner than the layers, and a dimension that is periodic on one side. Local.
  HaloPlan(const mpi::Communicator& comm, const HaloShape& shape, index_t fields = 1,
           int threads = machine::default_threads());
  HaloPlan(HaloPlan&&) noexcept;
  HaloPlan& operator=(HaloPlan&&) noexcept;
  HaloPlan(const HaloPlan&) = delete;
  HaloPlan& operator=(const HaloPlan&) = delete;
  ~HaloPlan();

  /// Packs the layers inside of this rank's boxes and starts their messages. fields[f](0, 0, 0) is
  /// the first point of the box; the extent is that of the box without ghost layers, strides are
  /// any. Afterwards the boxes may be read and written; the ghost layers belong to the plan until
  /// wait(). Throws Error(usage), naming the argument, on the rank whose fields do not fit; the
  /// other ranks then wait in vain. Collective.
  void start(std::span<const GridView<T>> fields);
  /// Waits for the messages and fills all ghost layers of the fields of start(), edges and corners
  /// included: the neighbours' points as they were at start(), and beyond the sides of the field
  /// values by the rule of z, then y, then x, from the points as they are now. Values beyond given
  /// sides are left as they are; the caller has written them along the ghost layers of other
  /// dimensions, too. Collective.
  void wait();
  /// Starts and waits.
  void execute(std::span<const GridView<T>> fields) {
    start(fields);
    wait();
  }
  void start(const GridView<T>& field) { start(std::span(&field, 1)); }
  void execute(const GridView<T>& field) { execute(std::span(&field, 1)); }

  /// Throws as start(), and exchanges nothing. Local.
  void check(std::span<const GridView<T>> fields) const;

  [[nodiscard]] index_t messages() const;  ///< sent by this rank, and received
  /// Returns the bytes of the messages, sent and received.
  [[nodiscard]] index_t buffer_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Fills the ghost layers of a field once, as HaloPlan. Throws Error(usage) on all ranks if
/// anything does not fit. Collective.
template <class T>
void exchange_halo(const mpi::Communicator& comm, const GridView<T>& field, const HaloShape& shape);

}  // namespace tessera::inline v1::dist::stencil
