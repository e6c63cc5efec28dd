// Writes frames between steps, and continues the files of an interrupted run.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "base/lines.hpp"
#include "base/text.hpp"
#include "io/grid.hpp"
#include "mpi/agreement.hpp"
#include "workloads/stencil/stops.hpp"

namespace tessera::inline v1::workloads::stencil {

template <class T>
Snapshots<T>::Snapshots(const Point& point, const DistributedField<T>& u, run::Outputs& outputs,
                        std::vector<std::size_t> datasets, const FramePlan& frames,
                        mpi::Phases& phases)
    : point_(point),
      u_(u),
      outputs_(outputs),
      datasets_(std::move(datasets)),
      frames_(frames),
      phases_(phases) {
  mpi::together(point.comm, "allocate",
                [&] { copy_ = machine::Buffer<T>(u.fields() * u.box().volume()); });
}

template <class T>
index_t Snapshots<T>::next(index_t step) const {
  const auto& steps = frames_.steps;
  const auto frame =
      std::lower_bound(steps.begin(), steps.end(), std::max(step, frames_.written + 1));
  return frame == steps.end() ? dist::stencil::never : *frame;
}

template <class T>
void Snapshots<T>::at(index_t step) {
  finish();
  const mpi::PhaseScope scope(phases_, "snapshot");
  if (u_.box().empty()) return;
  u_.bring();
  const Index3 size = u_.box().size();
  T* to = copy_.data();
  for (index_t field = 0; field < u_.fields(); ++field) {
    const auto now = u_.now(field);
    for (index_t row = 0; row < size[0] * size[1]; ++row, to += size[2]) {
      const index_t z = row / size[1], y = row % size[1];
      std::copy_n(now.row(z, y), size[2], to);
      leave_out(u_.terms(), z, y, size[2], to);
    }
  }
  const auto frame =
      std::lower_bound(frames_.steps.begin(), frames_.steps.end(), step) - frames_.steps.begin();
  writing_ = writes_.ask([this, frame] { write(static_cast<index_t>(frame)); });
}

template <class T>
void Snapshots<T>::write(index_t frame) {
  const T* from = copy_.data();
  for (const std::size_t dataset : datasets_) {
    const GridView<const T> view = grid_view(from, u_.box().size(), point_.problem.dims());
    from += u_.box().volume();
    io::write_grid<T>(u_.box(), view,
                      [&](std::span<const layout::Range> slab, std::span<const std::byte> bytes) {
                        std::vector<layout::Range> with_time{{frame, frame + 1}};
                        with_time.insert(with_time.end(), slab.begin(), slab.end());
                        outputs_.write_slab(dataset, with_time, bytes);
                        writes_.count_written(ssize(bytes));
                      });
  }
}

template <class T>
void Snapshots<T>::finish() {
  mpi::together(point_.comm, "snapshot", [&] {
    const mpi::PhaseScope scope(phases_, "snapshot");
    writes_.wait(writing_);
  });
}

template <class T>
void Snapshots<T>::leave(index_t step) {
  finish();
  outputs_.keep(point_.comm, point_.values, frames_.identity,
                fmt::format("{},{}", frames_.steps.front(), std::max(step, frames_.written)));
}

namespace {

/// Returns the first and last steps that an earlier attempt left in all files; -1 if none. Local.
std::pair<index_t, index_t> left_of(const Point& point, const std::string& identity) {
  std::string state;
  for (const std::string& name : io::split_names(point.values.text("snapshots"))) {
    const std::string file = io::parse_dataset_name(name, "snapshots").file;
    const std::string left = io::OutputFile::left_of(file, identity);
    if (left.empty() || (!state.empty() && left != state)) return {-1, -1};
    state = left;
  }
  const auto words = split(state, ',');
  return {std::stoll(words.at(0)), std::stoll(words.at(1))};
}

/// Returns the step of the first frame in a file of snapshots; `otherwise` if it is not one. Local.
index_t first_frame_of(const std::string& file, index_t otherwise) {
  double step = 0;
  const Index3 one{{1, 1, 1}};
  try {
    io::read_grid<double>({file, "/time"}, {{}, one}, grid_view(&step, one, 1));
  } catch (const Error&) {
    return otherwise;
  }
  return static_cast<index_t>(step);
}

/// Throws Error(cannot_create) if a resumed run without the earlier frames would replace a file
/// that has them. Local.
void require_no_frames_before(const Point& point, index_t first) {
  for (const std::string& name : io::split_names(point.values.text("snapshots"))) {
    const std::string file = io::parse_dataset_name(name, "snapshots").file;
    const index_t there = first_frame_of(file, first);
    require(there >= first, ExitCode::cannot_create,
            fmt::format("'{}' holds frames from step {} and would be replaced by frames from step "
                        "{} only; name other --snapshots, or drop --resume to write all frames",
                        file, there, first));
  }
}

}  // namespace

FramePlan plan_frames(const Point& point, const std::string& identity, index_t first) {
  const auto& [comm, values, problem, inputs, session] = point;
  FramePlan plan;
  if (!problem.checkpoint.empty())
    plan.identity =
        fmt::format("{}, {} steps, a frame every {} in {}, {}", identity, problem.shape.steps,
                    problem.every, values.text("snapshots"), values.text("out"));
  std::array<index_t, 2> left{-1, -1};
  if (problem.resumes() && !plan.identity.empty())
    mpi::on_root(comm, "resume",
                 [&] { std::tie(left[0], left[1]) = left_of(point, plan.identity); });
  comm.broadcast(std::span<index_t>(left), 0);
  const bool goes_on = left[1] >= first;
  if (!goes_on && values.has("overwrite"))
    mpi::on_root(comm, "resume", [&] { require_no_frames_before(point, first); });
  plan.steps = frames_of(problem, goes_on ? left[0] : first);
  plan.written = goes_on ? left[1] : -1;
  if (goes_on && comm.is_root()) {
    const auto there = std::upper_bound(plan.steps.begin(), plan.steps.end(), plan.written);
    print_filled("resumed: {} of {} frames exist", there - plan.steps.begin(), plan.steps.size());
  }
  return plan;
}

std::vector<index_t> frames_of(const Problem& problem, index_t first) {
  std::vector<index_t> frames{first};
  for (index_t step = first / problem.every + 1; step * problem.every < problem.shape.steps; ++step)
    frames.push_back(step * problem.every);
  if (frames.back() < problem.shape.steps) frames.push_back(problem.shape.steps);
  return frames;
}

template class Snapshots<Half>;
template class Snapshots<float>;
template class Snapshots<double>;

}  // namespace tessera::inline v1::workloads::stencil
