#pragma once
// The stencil sweep over fields in the memory of the ranks' devices, with overlap of halo exchange
// and arithmetic.

#include <array>
#include <map>

#include "dist/stencil/advance.hpp"
#include "dist/stencil/device_halo.hpp"
#include "kernels/stencil/slabs.hpp"

namespace tessera::inline v1::dist::stencil {

using tessera::stencil::SlabPlan;

/// Returns the parts of a box that are computed in place one after the other, each for all its
/// steps: the first is independent of the halo, the others surround it. Together they compute every
/// point of every step once. depth: points of the halo by dimension. Empty if a box is less than
/// two halos long, or has no halo.
[[nodiscard]] std::vector<tessera::stencil::Part> device_parts(Index3 size, const Edges& edges,
                                                               Index3 depth);

/// Returns the most steps of a stretch that the method's kernel computes in a single pass, the same
/// on every rank; 1 without a kernel.
template <class T>
[[nodiscard]] index_t steps_of_a_pass(const Scheme& scheme, const layout::GridLayout& grid,
                                      const Method& method);

/// Returns how a rank's box in host memory is processed on its device for `steps` steps: at once,
/// or in slabs. Throws Error(memory) if it cannot be.
template <class T>
[[nodiscard]] SlabPlan slabs_of(const Scheme& scheme, const layout::GridLayout& grid, index_t rank,
                                index_t steps, const Method& method);

/// A sweep on devices: computes the interior of every box on a separate stream while the halo is in
/// flight, then the edges. If a stretch between two exchanges is a single pass, the edges of one
/// exchange and the halo of the next do not wait for the interior: the critical path from stretch
/// to stretch is the interior's own steps only.
template <class T>
class DeviceStencil {
 public:
  /// Allocates uninitialised fields as u's, without terms. The kernel is the method's, or the best
  /// one for devices. Collective.
  DeviceStencil(const mpi::DeviceExchange& exchange, const DistributedField<T>& u,
                const Method& method,
                const ResidentKernels<T>* kernels = tessera::stencil::resident_kernels<T>());

  // Copies this rank's boxes from and to host memory: the levels of u that its stencil needs, and
  // the given values beyond sides. Precondition: no steps are in progress.
  void put(const DistributedField<T>& u);
  /// As above, for a part of the box, in local indices.
  void get(DistributedField<T>& u, const Box3& part) const;

  /// Advances by `steps` steps. Adds to the phases "exchange" and "compute" the waiting time of
  /// this rank, and to "interior" and "edges" the time of its device. Collective.
  Traffic advance(index_t steps, mpi::Phases& phases);

  /// Returns the bytes received from other ranks since construction.
  [[nodiscard]] index_t received_bytes() const { return received_; }

  /// Returns the maximal bytes of device memory that a rank uses with any transport.
  [[nodiscard]] static index_t device_bytes(const Scheme& scheme, const layout::GridLayout& grid,
                                            index_t rank, index_t halo_steps, index_t fields);

 private:
  using Sweep = tessera::stencil::DeviceSweep<T>;
  using Part = tessera::stencil::Part;

  /// The steps between two exchanges.
  struct Stretch {
    index_t steps = 0;
    std::vector<Part>
        parts;  ///< the interior first; a single part: the whole box, after the exchange
    tessera::stencil::Passes passes;
    [[nodiscard]] bool overlaps() const { return parts.size() > 1; }
    /// Returns whether the parts read only earlier values and write what no other part reads.
    [[nodiscard]] bool independent() const { return passes.count <= 1 && !passes.reads_ghosts; }
  };
  /// Start and end on the device of the interior, and of the part that waits for the halo.
  struct InteriorLaps {
    machine::device::Event interior[2], rest[2];
    bool any = false, overlapped = false;
  };

  [[nodiscard]] const Stretch& stretch_of(index_t steps);
  /// Returns the sweep of field `field` from its current level.
  [[nodiscard]] Sweep sweep_of(index_t field, index_t steps) const;
  [[nodiscard]] std::vector<T*> travelling() const;
  void run(const Stretch& stretch, const Part& part, machine::device::StreamHandle stream);
  void fill_ghosts(index_t steps);
  void begin(const Stretch& stretch, InteriorLaps& laps, const InteriorLaps& before);
  void end(const Stretch& stretch, InteriorLaps& laps, const InteriorLaps& before);
  void take_times(InteriorLaps& laps);
  void finish(mpi::Phases& phases);

  index_t rank_;
  Scheme scheme_;
  Box3 box_;
  Edges edges_;
  index_t halo_steps_, fields_;
  Overlap overlap_;
  int threads_;
  tessera::stencil::Tuning tuning_;
  tessera::stencil::DeviceKernel<T> kernel_;
  ResidentKernels<T> kernels_;
  Sweep sweep_;                                                     ///< without levels
  std::vector<std::array<machine::device::Allocation, 2>> levels_;  ///< by field
  index_t origin_ = 0;  ///< of the point (0, 0, 0) in a level
  machine::device::Allocation weights_, places_;
  DeviceHalo<T> halo_;
  std::map<index_t, Stretch> stretches_;  ///< by steps
  index_t turned_ = 0;                    ///< level 1 is now
  index_t received_ = 0;
  machine::device::Stream interior_stream_;
  machine::device::Stream edge_stream_{machine::device::Turn::first};
  machine::device::Event packed_, edges_done_;
  std::array<InteriorLaps, 4> laps_;
  std::size_t lap_ = 0;
  double interior_seconds_ = 0, edge_seconds_ = 0;
};

}  // namespace tessera::inline v1::dist::stencil
