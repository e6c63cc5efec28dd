#include <algorithm>

#include "io/grid.hpp"
#include "mpi/agreement.hpp"
#include "stencil_stops.hpp"

namespace tessera::apps::stencil {

template <class T>
Snapshots<T>::Snapshots(const Point& point, const DistributedField<T>& u, run::Outputs& outputs,
                        std::vector<std::size_t> datasets, std::vector<index_t> frames, mpi::Phases& phases)
    : point_(point),
      u_(u),
      outputs_(outputs),
      datasets_(std::move(datasets)),
      frames_(std::move(frames)),
      phases_(phases) {
  mpi::together(point.comm, "allocate", [&] { copy_ = machine::Buffer<T>(u.fields() * u.box().volume()); });
}

template <class T>
index_t Snapshots<T>::next(index_t step) const {
  const auto frame = std::lower_bound(frames_.begin(), frames_.end(), step);
  return frame == frames_.end() ? dist::stencil::never : *frame;
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
    for (index_t row = 0; row < size[0] * size[1]; ++row, to += size[2])
      std::copy_n(now.row(row / size[1], row % size[1]), size[2], to);
  }
  const auto frame = std::lower_bound(frames_.begin(), frames_.end(), step) - frames_.begin();
  writing_ = std::async(std::launch::async, [this, frame] { write(static_cast<index_t>(frame)); });
}

template <class T>
void Snapshots<T>::write(index_t frame) {
  const T* from = copy_.data();
  for (const std::size_t dataset : datasets_) {
    const GridView<const T> view = grid_view(from, u_.box().size(), point_.request.dims());
    from += u_.box().volume();
    io::write_grid<T>(u_.box(), view,
                      [&](std::span<const layout::Range> slab, std::span<const std::byte> bytes) {
                        std::vector<layout::Range> with_time{{frame, frame + 1}};
                        with_time.insert(with_time.end(), slab.begin(), slab.end());
                        outputs_.write_slab(dataset, with_time, bytes);
                      });
  }
}

template <class T>
void Snapshots<T>::finish() {
  mpi::together(point_.comm, "snapshot", [&] {
    const mpi::PhaseScope scope(phases_, "snapshot");
    if (writing_.valid()) writing_.get();
  });
}

std::vector<index_t> frames_of(const Request& request, index_t first) {
  std::vector<index_t> frames{first};
  for (index_t step = first / request.every + 1; step * request.every < request.shape.steps; ++step)
    frames.push_back(step * request.every);
  if (frames.back() < request.shape.steps) frames.push_back(request.shape.steps);
  return frames;
}

template class Snapshots<Half>;
template class Snapshots<float>;
template class Snapshots<double>;

}  // namespace tessera::apps::stencil
