// Placement of the sweep: on the GPUs, through them or on the host, and the shares of the ranks.

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "dist/stencil/on_devices.hpp"
#include "mpi/agreement.hpp"
#include "run/device.hpp"
#include "run/shares.hpp"
#include "workloads/stencil/problem.hpp"

namespace tessera::inline v1::workloads::stencil {
namespace {

using run::Values;

/// Returns default rates of GPUs before one is measured: the memory bandwidth of any, some launches
/// an exchange, and a link between two of them.
dist::stencil::Rates gpu_rates(mpi::DeviceTransport transport) {
  const auto& devices = machine::gpus().devices;
  const double memory = devices.empty() ? 2e12 : 0.85 * devices.front().bus_bandwidth();
  const double link = transport == mpi::DeviceTransport::staged ? 5e9 : 100e9;
  return {memory,
          {.latency = 40e-6, .message = 5e-6, .bandwidth = link, .crowd_bandwidth = link},
          true};
}

/// The device kernel, and whether this rank runs it: with --gpu-ranks only some of a node do.
struct DevicePlacement {
  const tessera::stencil::Variant* row = nullptr;  ///< nullptr: no rank does
  bool drives = false;                             ///< this rank
  bool all = false;                                ///< all ranks
};

/// Chooses whether the fields stay on the GPUs, the transport of their halos, and the steps between
/// two exchanges.
template <class T>
void choose_exchange(const mpi::Communicator& comm, const Values& point, const Inputs& inputs,
                     const DevicePlacement& place, Problem& problem) {
  run::Residence residence{
      .ranks = problem.shape.ranks, .limit = point.bytes("device-memory"), .saves_one_rank = true};
  residence.possible = place.row != nullptr && place.all && !problem.scheme().terms.any();
  auto shape = problem.shape;
  const auto plan = [&](mpi::DeviceTransport transport) {
    shape.rates = gpu_rates(transport);
    return make_plan(shape);
  };
  if (residence.possible && shape.ranks == comm.size()) {
    shape.pass_steps =
        dist::stencil::steps_of_a_pass<T>(problem.scheme(), problem.plan.grid, problem.method);
    residence.device_bytes = dist::stencil::DeviceStencil<T>::device_bytes(
        problem.scheme(), problem.plan.grid, comm.rank(),
        plan(mpi::DeviceTransport::ipc).halo_steps, shape.fields);
  }
  problem.gpus = inputs.gpus->at(comm, point, residence);
  if (problem.gpus == nullptr) return;
  problem.plan = plan(problem.gpus->transport());
  problem.shape = shape;
  if (point.text("overlap") == "auto") problem.method.overlap = dist::stencil::Overlap::yes;
}

/// Cuts the slabs of a rank that drives a GPU, by the plan.
template <class T>
void cut_slabs(const mpi::Communicator& comm, const DevicePlacement& place, Problem& problem) {
  const auto& shape = problem.shape;
  if (!place.drives || shape.device_memory == 0) return;
  const index_t steps = std::min(problem.plan.halo_steps, std::max<index_t>(1, shape.steps));
  problem.slabs = dist::stencil::slabs_of<T>(problem.scheme(), problem.plan.grid,
                                             std::min<index_t>(comm.rank(), shape.ranks - 1), steps,
                                             problem.method);
}

/// Chooses the slabs in which fields on the host are processed on GPUs between two exchanges, and
/// the steps between these: more steps cause less bus traffic.
template <class T>
void choose_slabs(const mpi::Communicator& comm, const Values& point, const DevicePlacement& place,
                  Problem& problem) {
  auto& shape = problem.shape;
  const index_t room = run::device_room(comm, point);
  if (room == 0) return;  // planned without a GPU
  problem.method.tuning.device_memory = shape.device_memory = room;
  double slowest = std::numeric_limits<double>::max();
  if (place.drives) {
    shape.pass_steps =
        dist::stencil::steps_of_a_pass<T>(problem.scheme(), problem.plan.grid, problem.method);
    shape.device_rates = tessera::stencil::slab_rates();
    slowest = shape.device_rates.memory;
  }
  shape.pass_steps = comm.max(shape.pass_steps);
  shape.device_rates.memory = -comm.max(-slowest);
  mpi::together(comm, "plan", [&] {
    problem.plan = make_plan(shape);
    cut_slabs<T>(comm, place, problem);
  });
}

/// Cuts boxes in proportion to each rank's measured speed in a stretch between two exchanges of the
/// current plan.
template <class T>
void choose_shares(const mpi::Communicator& comm, const Values& point, const DevicePlacement& place,
                   Problem& problem) {
  auto& shape = problem.shape;
  shape.weights = run::weights_of(comm, point, place.drives, [&] { return speed_of(problem); });
  if (shape.weights.empty()) return;
  mpi::together(comm, "plan", [&] {
    require(!shape.parts, ExitCode::usage,
            "shares by measured speed (--gpu-ranks, --shares measured) split one dimension only; "
            "drop --grid or use --shares equal");
    shape.halo_steps = problem.plan.halo_steps;
    problem.plan = make_plan(shape);
    cut_slabs<T>(comm, place, problem);
  });
}

}  // namespace

void choose_place(const mpi::Communicator& comm, const Values& point, const Inputs& inputs,
                  Problem& problem) {
  // Fields beyond a device's memory are processed in slabs, which need some memory.
  const auto needed = [&] {
    constexpr index_t enough = index_t{1} << 30;
    const index_t asked = point.bytes("device-memory");
    return std::min(dist::stencil::forecast(problem.shape, problem.plan, comm.rank()).field_bytes,
                    asked > 0 ? asked : enough);
  };
  DevicePlacement place;
  place.row = run::asked_device_kernel(comm, point, tessera::stencil::variants(),
                                       tessera::stencil::best_device(), needed);
  if (place.row != nullptr) {
    place.drives = run::drives_gpu(comm, point);
    place.all = comm.sum(index_t{place.drives ? 1 : 0}) == comm.size();
    problem.method.kernel = place.drives ? place.row : nullptr;  // the best one of the host
    problem.kernel = fmt::format("{}{}", place.row->name, place.all ? "" : "+auto");
  }
  dispatch_kept(problem.element, [&]<class T>(Type<T>) {
    choose_exchange<T>(comm, point, inputs, place, problem);
    if (problem.gpus != nullptr) return;
    if (place.row != nullptr) choose_slabs<T>(comm, point, place, problem);
    choose_shares<T>(comm, point, place, problem);
  });
}

}  // namespace tessera::inline v1::workloads::stencil
