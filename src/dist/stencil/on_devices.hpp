#pragma once
// The sweep over fields that lie on the ranks' devices, and stay there.

#include <array>
#include <map>

#include "dist/stencil/advance.hpp"
#include "dist/stencil/device_halo.hpp"
#include "kernels/stencil/slabs.hpp"

namespace tessera::dist::stencil {

using tessera::stencil::SlabPlan;

/// A box in the parts that are computed in place one after the other, each all its steps: the first
/// needs nothing of the halo, the others lie around it. Together they compute every point of every
/// step once. depth: points of the halo by dimension. Empty where a box is less than two halos
/// long, or has none.
[[nodiscard]] std::vector<tessera::stencil::Part> device_parts(Index3 size, const Edges& edges,
                                                               Index3 depth);

/// The most steps of a stretch that the method's kernel takes in a single pass, the same on every
/// rank; 1 where there is no kernel.
template <class T>
[[nodiscard]] index_t steps_of_a_pass(const Scheme& scheme, const layout::GridLayout& grid,
                                      const Method& method);

/// How a rank's box goes through its device for so many steps where it lies on the host: at once,
/// or in slabs. Throws Error(memory) where it cannot.
template <class T>
[[nodiscard]] SlabPlan slabs_of(const Scheme& scheme, const layout::GridLayout& grid, index_t rank,
                                index_t steps, const Method& method);

/// While the halo travels the interior of every box is computed on a stream of its own; then the
/// edges. Where a stretch between two exchanges is a single pass, the edges of one exchange and the
/// halo of the next one do not wait for the interior either: only the interior's own steps are on
/// the way from stretch to stretch.
template <class T>
class DeviceStencil {
 public:
  /// Memory for fields as u's, uninitialised, without terms. The kernel is the method's, or the
  /// best one for devices. Collective.
  DeviceStencil(const mpi::DeviceExchange& exchange, const DistributedField<T>& u,
                const Method& method,
                const ResidentKernels<T>* kernels = tessera::stencil::resident_kernels<T>());

  // This rank's boxes, from its host's memory and back: those values of u that its stencil needs,
  // and what is given beyond sides. No steps must be under way.
  void put(const DistributedField<T>& u);
  /// A part of the box, in local indices.
  void get(DistributedField<T>& u, const Box3& part) const;

  /// So many steps. Collective. Adds to the phases "exchange" and "compute" what this rank waits
  /// for, and to "interior" and "edges" what its device takes for them.
  Traffic advance(index_t steps, mpi::Phases& phases);

  /// Bytes that came from other ranks since it was made.
  [[nodiscard]] index_t received_bytes() const { return received_; }

  /// Bytes of a device's memory that a rank takes at most, whatever the way.
  [[nodiscard]] static index_t device_bytes(const Scheme& scheme, const layout::GridLayout& grid,
                                            index_t rank, index_t halo_steps, index_t fields);

 private:
  using Sweep = tessera::stencil::DeviceSweep<T>;
  using Part = tessera::stencil::Part;

  /// Between two exchanges.
  struct Stretch {
    index_t steps = 0;
    std::vector<Part> parts;  ///< the interior first; one alone: the whole box, after the exchange
    tessera::stencil::Passes passes;
    [[nodiscard]] bool overlaps() const { return parts.size() > 1; }
    /// The parts read what was there before and write what nobody reads.
    [[nodiscard]] bool independent() const { return passes.count <= 1 && !passes.reads_ghosts; }
  };
  /// When the device began and ended the interior, and what waits for the halo.
  struct InteriorLaps {
    machine::device::Event interior[2], rest[2];
    bool any = false, overlapped = false;
  };

  [[nodiscard]] const Stretch& stretch_of(index_t steps);
  /// Field `field` as it is now.
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
  Sweep sweep_;                                                ///< without levels
  std::vector<std::array<machine::device::Block, 2>> levels_;  ///< by field
  index_t origin_ = 0;  ///< of the point (0, 0, 0) in a level
  machine::device::Block weights_, places_;
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

}  // namespace tessera::dist::stencil
