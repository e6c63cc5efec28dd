// The sweep on devices: the interior on one stream, halo exchange and edges on another.

#include "dist/stencil/on_devices.hpp"

#include <algorithm>

#include "base/work_done.hpp"
#include "dist/stencil/overlap.hpp"
#include "kernels/stencil/level_rows.hpp"
#include "mpi/agreement.hpp"

namespace tessera::inline v1::dist::stencil {
namespace {

namespace device = machine::device;
using tessera::stencil::device_shape;
using tessera::stencil::device_sweep;
using tessera::stencil::DeviceKernel;
using tessera::stencil::DeviceShape;
using tessera::stencil::each_run_of_rows;
using tessera::stencil::Front;
using tessera::stencil::Part;
using tessera::stencil::Tap;

template <class T>
DeviceKernel<T> kernel_of(const Method& method) {
  const Variant* const row =
      method.kernel != nullptr ? method.kernel : tessera::stencil::best_device();
  DeviceKernel<T> kernel;
  if (row != nullptr) kernel = row->on_device.template of<T>();
  require(kernel.run != nullptr, ExitCode::usage,
          "field in device memory needs a device kernel; use a cuda_ kernel in a build with CUDA");
  return kernel;
}

/// Returns a copy of the list in device memory.
template <class Item>
device::Allocation on_device(const std::vector<Item>& list) {
  const auto bytes = static_cast<index_t>(list.size() * sizeof(Item));
  device::Allocation block(bytes, device::Home::device);
  device::upload(matrix_view(reinterpret_cast<const std::byte*>(list.data()), 1, bytes),
                 matrix_view(block.data(), 1, bytes), 1);
  return block;
}

}  // namespace

std::vector<Part> device_parts(Index3 size, const Edges& edges, Index3 depth) {
  const auto part_of = [&](const Box3& box) {
    Part part{box.low, box.high};
    for (int d = 0; d < 3; ++d) {
      for (int side = 0; side < 2; ++side) {
        const auto edge = edges[static_cast<std::size_t>(d)][static_cast<std::size_t>(side)];
        if (edge == Edge::exchanged) part.front[d][side] = Front::retreats;
      }
    }
    return part;
  };
  const Split whole = split(size, edges, depth);
  if (whole.edges.empty() || whole.interior.empty()) return {};
  std::vector<Part> parts{part_of(whole.interior)};
  // The last edges come first: they depend on existing values only, as the earlier ones span their
  // ends.
  for (auto edge = whole.edges.rbegin(); edge != whole.edges.rend(); ++edge) {
    parts.push_back(part_of(edge->box));
    parts.back().front[edge->d][1 - edge->side] = Front::advances;
  }
  return parts;
}

template <class T>
index_t steps_of_a_pass(const Scheme& scheme, const layout::GridLayout& grid,
                        const Method& method) {
  if (grid.of(0).empty()) return 1;
  return tessera::stencil::steps_of_a_pass(shape_of<T>(scheme, grid.of(0), 1), kernel_of<T>(method),
                                           method.tuning);
}

template <class T>
SlabPlan slabs_of(const Scheme& scheme, const layout::GridLayout& grid, index_t rank, index_t steps,
                  const Method& method) {
  if (grid.of(rank).empty()) return {};
  return tessera::stencil::plan_slabs(shape_of<T>(scheme, grid.of(rank), steps),
                                      kernel_of<T>(method), method.tuning);
}

template <class T>
index_t DeviceStencil<T>::device_bytes(const Scheme& scheme, const layout::GridLayout& grid,
                                       index_t rank, index_t halo_steps, index_t fields) {
  const Box3 box = grid.of(rank);
  if (box.empty()) return 0;
  const auto sweep = device_sweep(shape_of<T>(scheme, box, halo_steps));
  const index_t levels = fields * (scheme.stencil.two_levels() ? 2 : 1);
  return 2 * fields * device_shape(sweep.line, size_of<T>).count * size_of<T> +
         DeviceHalo<T>::device_bytes(scheme, grid, rank, halo_steps, levels);
}

template <class T>
DeviceStencil<T>::DeviceStencil(const mpi::DeviceExchange& exchange, const DistributedField<T>& u,
                                const Method& method, const ResidentKernels<T>* kernels)
    : rank_(exchange.comm().rank()),
      scheme_(u.scheme()),
      box_(u.box()),
      edges_(edges_of(u.scheme(), u.grid(), exchange.comm().rank())),
      halo_steps_(u.halo_steps()),
      fields_(u.fields()),
      overlap_(method.overlap),
      threads_(method.threads),
      tuning_(method.tuning),
      kernel_(kernel_of<T>(method)),
      kernels_(*kernels),
      sweep_(device_sweep(shape_of<T>(scheme_, box_, halo_steps_))),
      levels_(static_cast<std::size_t>(fields_)),
      halo_(exchange, scheme_, u.grid(), halo_steps_,
            fields_ * (scheme_.stencil.two_levels() ? 2 : 1), kernels_) {
  mpi::together(exchange.comm(), "allocate", [&] {
    require(!scheme_.terms.any(), ExitCode::usage,
            "device kernels of stencils do not support coefficients, source, mask or walls");
    if (box_.empty()) return;
    const DeviceShape shape = device_shape(sweep_.line, size_of<T>);
    origin_ = shape.origin;
    for (auto& field : levels_) {
      for (device::Allocation& level : field)
        level = device::Allocation(shape.count * size_of<T>, device::Home::device);
    }
    std::vector<Arithmetic<T>> weights;
    std::vector<Index3> places;
    for (const Tap& tap : scheme_.stencil.taps) {
      weights.push_back(static_cast<Arithmetic<T>>(tap.weight));
      places.push_back(tap.offset);
    }
    weights_ = on_device(weights);
    places_ = on_device(places);
    sweep_.tap_weight = reinterpret_cast<const Arithmetic<T>*>(weights_.data());
    sweep_.tap_place = reinterpret_cast<const Index3*>(places_.data());
  });
}

template <class T>
auto DeviceStencil<T>::sweep_of(index_t field, index_t steps) const -> Sweep {
  Sweep sweep = sweep_;
  sweep.steps = steps;
  for (index_t level = 0; level < 2; ++level) {
    const device::Allocation& memory =
        levels_[static_cast<std::size_t>(field)][static_cast<std::size_t>((turned_ + level) % 2)];
    sweep.level[level] = reinterpret_cast<T*>(memory.data()) + origin_;
  }
  return sweep;
}

/// Returns the levels of all fields whose halos are exchanged.
template <class T>
std::vector<T*> DeviceStencil<T>::travelling() const {
  std::vector<T*> levels;
  for (index_t field = 0; field < fields_; ++field) {
    const Sweep sweep = sweep_of(field, 0);
    levels.push_back(sweep.level[0]);
    if (sweep.two_levels) levels.push_back(sweep.level[1]);
  }
  return levels;
}

template <class T>
void DeviceStencil<T>::put(const DistributedField<T>& u) {
  turned_ = 0;
  if (box_.empty()) return;
  for (auto& field : levels_) {
    for (const device::Allocation& level : field)
      device::zero(level.data(), level.size(), edge_stream_);
  }
  edge_stream_.wait();
  std::vector<device::Upload> uploads;
  const Box3 all = sweep_.all();
  for (index_t field = 0; field < fields_; ++field) {
    const Sweep sweep = sweep_of(field, 0);
    const auto add = [&](const GridView<const T>& from, T* to) {
      each_run_of_rows(from.data, from.stride, to, sweep.stride, all,
                       [&](const auto& host, const auto& there) {
                         uploads.push_back({host, there});
                       });
    };
    add(u.now(field), sweep.level[0]);
    if (sweep.two_levels) add(u.past(field), sweep.level[1]);
  }
  device::upload(uploads, threads_);
  for (index_t field = 0; field < fields_; ++field) {
    for (const int level : {0, 1}) kernels_.fill_ghosts(sweep_of(field, 0), level, edge_stream_);
  }
  edge_stream_.wait();
}

template <class T>
void DeviceStencil<T>::get(DistributedField<T>& u, const Box3& part) const {
  const Box3 wanted = intersect(part, {{}, box_.size()});
  if (box_.empty() || wanted.empty()) return;
  std::vector<device::Download> downloads;
  for (index_t field = 0; field < fields_; ++field) {
    const Sweep sweep = sweep_of(field, 0);
    const auto add = [&](T* from, const GridView<T>& to) {
      each_run_of_rows(from, sweep.stride, to.data, to.stride, wanted,
                       [&](const auto& there, const auto& host) {
                         downloads.push_back({there, host});
                       });
    };
    add(sweep.level[0], u.now(field));
    if (sweep.two_levels) add(sweep.level[1], u.past(field));
  }
  device::download(downloads, threads_);
}

template <class T>
auto DeviceStencil<T>::stretch_of(index_t steps) -> const Stretch& {
  const auto known = stretches_.find(steps);
  if (known != stretches_.end()) return known->second;
  Stretch stretch{steps, {}, {}};
  if (!box_.empty()) {
    const Sweep sweep = sweep_of(0, steps);
    stretch.passes = kernel_.passes(sweep, tuning_);
    if (overlap_ == Overlap::yes)
      stretch.parts = device_parts(box_.size(), edges_, times(scheme_.stencil.radius, steps));
    if (stretch.parts.empty()) stretch.parts = {sweep.part};
  }
  return stretches_.emplace(steps, std::move(stretch)).first->second;
}

template <class T>
void DeviceStencil<T>::run(const Stretch& stretch, const Part& part, device::StreamHandle stream) {
  for (index_t field = 0; field < fields_; ++field) {
    Sweep sweep = sweep_of(field, stretch.steps);
    sweep.part = part;
    const int level = kernel_.run(sweep, tuning_, stream);
    TESSERA_EXPECTS(level == stretch.passes.count % 2);
    (void)level;
  }
}

template <class T>
void DeviceStencil<T>::fill_ghosts(index_t steps) {
  for (index_t field = 0; field < fields_; ++field)
    kernels_.fill_ghosts(sweep_of(field, steps), 0, edge_stream_);
}

/// Starts the work without halo dependency. Packs the neighbours' halos first: they are the
/// previous stretch's edges.
template <class T>
void DeviceStencil<T>::begin(const Stretch& stretch, InteriorLaps& laps,
                             const InteriorLaps& before) {
  if (stretch.passes.reads_ghosts) {
    before.interior[1].before_next(edge_stream_);
    fill_ghosts(stretch.steps);
    edges_done_.record(edge_stream_);
  }
  if (halo_.any()) {
    halo_.pack(stretch.steps, travelling(), sweep_.stride, edge_stream_);
    packed_.record(edge_stream_);
  }
  if (!stretch.overlaps()) return;
  edges_done_.before_next(interior_stream_);
  // Its second pass overwrites the level that is packed.
  if (!stretch.independent()) packed_.before_next(interior_stream_);
  laps.interior[0].record(interior_stream_);
  run(stretch, stretch.parts.front(), interior_stream_);
  laps.interior[1].record(interior_stream_);
}

/// Completes a stretch after its halo has arrived.
template <class T>
void DeviceStencil<T>::end(const Stretch& stretch, InteriorLaps& laps, const InteriorLaps& before) {
  if (halo_.any()) halo_.unpack(travelling(), sweep_.stride, edge_stream_);
  const bool waits = stretch.overlaps() && !stretch.independent();
  (waits ? laps : before).interior[1].before_next(edge_stream_);
  if (stretch.passes.reads_ghosts) fill_ghosts(stretch.steps);
  laps.rest[0].record(edge_stream_);
  for (std::size_t i = stretch.overlaps() ? 1 : 0; i < stretch.parts.size(); ++i)
    run(stretch, stretch.parts[i], edge_stream_);
  laps.rest[1].record(edge_stream_);
  edges_done_.record(edge_stream_);
  laps.any = true;
  laps.overlapped = stretch.overlaps();
}

template <class T>
Traffic DeviceStencil<T>::advance(index_t steps, mpi::Phases& phases) {
  Traffic traffic;
  for (index_t done = 0; done < steps;) {
    const Stretch& stretch = stretch_of(std::min(halo_steps_, steps - done));
    const InteriorLaps& before = laps_[lap_];
    lap_ = (lap_ + 1) % laps_.size();
    InteriorLaps& laps = laps_[lap_];
    {
      const mpi::PhaseScope scope(phases, "compute");
      const mpi::Computing computing;
      take_times(laps);
      begin(stretch, laps, before);
      if (halo_.any()) packed_.wait();
    }
    if (halo_.any()) {
      const mpi::PhaseScope scope(phases, "exchange");
      halo_.travel();
      received_ += halo_.received_bytes();
      traffic.messages += halo_.messages();
    }
    {
      const mpi::PhaseScope scope(phases, "compute");
      end(stretch, laps, before);
    }
    turned_ = (turned_ + stretch.passes.count) % 2;
    done += stretch.steps;
    work_done().steps += stretch.steps;
    ++traffic.exchanges;
  }
  finish(phases);
  return traffic;
}

/// Adds the times of a stretch some time ago: the host runs ahead of the device by a bounded number
/// of stretches.
template <class T>
void DeviceStencil<T>::take_times(InteriorLaps& laps) {
  const auto seconds_of = [](const device::Event(&lap)[2]) {
    lap[1].wait();
    return lap[1].seconds_since(lap[0]);
  };
  if (!laps.any) return;
  (laps.overlapped ? edge_seconds_ : interior_seconds_) += seconds_of(laps.rest);
  if (laps.overlapped) interior_seconds_ += seconds_of(laps.interior);
  laps.any = false;
}

template <class T>
void DeviceStencil<T>::finish(mpi::Phases& phases) {
  {
    const mpi::PhaseScope scope(phases, "compute");
    const mpi::Computing computing;
    interior_stream_.wait();
    edge_stream_.wait();
    for (InteriorLaps& laps : laps_) take_times(laps);
  }
  if (interior_seconds_ > 0) phases.add("interior", interior_seconds_);
  if (edge_seconds_ > 0) phases.add("edges", edge_seconds_);
  interior_seconds_ = edge_seconds_ = 0;
}

template index_t steps_of_a_pass<Half>(const Scheme&, const layout::GridLayout&, const Method&);
template index_t steps_of_a_pass<float>(const Scheme&, const layout::GridLayout&, const Method&);
template index_t steps_of_a_pass<double>(const Scheme&, const layout::GridLayout&, const Method&);
template SlabPlan slabs_of<Half>(const Scheme&, const layout::GridLayout&, index_t, index_t,
                                 const Method&);
template SlabPlan slabs_of<float>(const Scheme&, const layout::GridLayout&, index_t, index_t,
                                  const Method&);
template SlabPlan slabs_of<double>(const Scheme&, const layout::GridLayout&, index_t, index_t,
                                   const Method&);
template class DeviceStencil<Half>;
template class DeviceStencil<float>;
template class DeviceStencil<double>;

}  // namespace tessera::inline v1::dist::stencil
