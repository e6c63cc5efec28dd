#pragma once
// The schedule of a sweep in slabs through a device: sends, computations and retrievals. The device
// is a template parameter, so that tests can substitute a mock.

#include <algorithm>
#include <array>

#include "kernels/stencil/level_rows.hpp"
#include "kernels/stencil/slabs.hpp"

namespace tessera::inline v1::stencil {

/// The queues of a device, which run concurrently, each in order.
enum class Queue { send, compute, bring };

/// The pipeline of a sweep: while one slab is sent, the previous one is computed and the one
/// before that is brought back, alternating strip by strip. Results overwrite the field in place:
/// the halo that a slab's neighbour reads has been sent by then. For a periodic dimension the first
/// points of a round are kept for its last slab.
///
/// Device provides
/// - Event                            a point of a queue; unmarked, nothing waits for it
/// - mark(Queue, Event&)              records the event after the work queued so far
/// - after(Queue, Event&)             makes the next work of the queue wait for the event
/// - Asked, asked(), arrived(asked)   the retrievals requested so far; waits for their completion
/// - level(place, 0 or 1)             memory for plan.elements
/// - send(host, device)               copies rows as bytes; may read the host's later
/// - bring(device, host)              copies rows as bytes; may return before they are written
/// - compute(DeviceSweep)             fills ghosts, runs all steps; returns the level of the field
/// - strip_bytes()                    bytes sent or brought at once
template <class T, class Device>
class SlabMarch {
 public:
  SlabMarch(const Sweep<T>& sweep, const SlabPlan& plan, Device& device)
      : sweep_(sweep), plan_(plan), device_(device), tasks_(tasks_of(sweep, plan)) {}

  void run() {
    for (std::size_t task = 0; task < tasks_.size(); ++task) {
      prepare(task);
      beat(task);
      compute(task);
      ++begun_;
    }
    while (brought_ < tasks_.size()) bring_all(brought_);
    device_.arrived(asked_.back());  // all reads of the field, and of the kept points, have
                                     // finished
  }

 private:
  using Event = typename Device::Event;
  struct Place {
    Event filled, computed, brought;
    Sweep<T> slab;
    DeviceSweep<T> there;
    int turned = 0;  ///< the level that holds the field
  };
  /// Rows of a transfer.
  template <class Byte>
  struct Strip {
    MatrixView<Byte> from;
    MatrixView<std::byte> to;
  };
  using Sent = Strip<const std::byte>;
  using Brought = Strip<std::byte>;

  [[nodiscard]] Place& place_of(std::size_t task) { return places_[task % places()]; }
  [[nodiscard]] std::size_t places() const { return static_cast<std::size_t>(plan_.places); }
  [[nodiscard]] int levels() const { return sweep_.stencil.two_levels() ? 2 : 1; }
  [[nodiscard]] bool wrapped() const { return sweep_.edge(plan_.d, 0) == Edge::wrapped; }
  /// Returns the destination of the field (0) and of the previous level (1).
  [[nodiscard]] const GridView<T>& target(const SlabTask& task, int level) const {
    return sweep_.level[task.last ? (sweep_.steps + level) % 2 : level];
  }

  /// Waits until the results of the previous round that the task reads have been brought back.
  void prepare(std::size_t task) {
    const index_t last = last_read(sweep_, plan_, tasks_, task);
    while (static_cast<index_t>(brought_) <= last) bring_all(brought_);
    if (last >= 0) device_.arrived(asked_[static_cast<std::size_t>(last)]);
    if (tasks_[task].first && wrapped()) keep(tasks_[task]);
  }

  void beat(std::size_t task) {
    Place& place = place_of(task);
    place.slab = slab_sweep(sweep_, tasks_[task]);
    place.there = device_sweep(place.slab);
    const DeviceShape shape = device_shape(place.there.line, static_cast<index_t>(sizeof(T)));
    TESSERA_EXPECTS(shape.count <= plan_.elements);
    for (int level = 0; level < 2; ++level)
      place.there.level[level] = device_.level(task % places(), level) + shape.origin;
    const std::vector<Sent> sends = strips_there(tasks_[task], place);
    const bool brings = task >= 2 && brought_ == task - 2;
    const std::vector<Brought> returns = brings ? begin_to_bring(task - 2) : std::vector<Brought>{};
    device_.after(Queue::send, place.brought);
    for (std::size_t sent = 0, back = 0; sent < sends.size() || back < returns.size();) {
      if (back == returns.size() ||
          (sent < sends.size() && sent * returns.size() <= back * sends.size())) {
        device_.send(sends[sent].from, sends[sent].to);
        ++sent;
      } else {
        device_.bring(returns[back].from, returns[back].to);
        ++back;
      }
    }
    device_.mark(Queue::send, place.filled);
    if (brings) end_to_bring(task - 2);
  }

  void compute(std::size_t task) {
    Place& place = place_of(task);
    device_.after(Queue::compute, place.filled);
    place.turned = device_.compute(place.there);
    device_.mark(Queue::compute, place.computed);
  }

  void bring_all(std::size_t task) {
    for (const Brought& strip : begin_to_bring(task)) device_.bring(strip.from, strip.to);
    end_to_bring(task);
  }
  [[nodiscard]] std::vector<Brought> begin_to_bring(std::size_t task) {
    device_.after(Queue::bring, place_of(task).computed);
    // The next slab reads the memory that this one overwrites.
    if (task + 1 < begun_) device_.after(Queue::bring, place_of(task + 1).filled);
    return strips_back(tasks_[task], place_of(task));
  }
  void end_to_bring(std::size_t task) {
    device_.mark(Queue::bring, place_of(task).brought);
    asked_.push_back(device_.asked());
    ++brought_;
  }

  /// Calls f(rows from, rows to) for pieces of at most a strip; pitch: bytes between rows on the
  /// device.
  template <class F, class From, class To>
  void cut(const From& from, const To& to, index_t pitch, const F& f) const {
    const index_t most = std::max<index_t>(1, device_.strip_bytes() / pitch);
    for (index_t i = 0; i < from.rows; i += most) {
      const index_t rows = std::min(most, from.rows - i);
      f(from.rows_range(i, rows), to.rows_range(i, rows));
    }
  }

  [[nodiscard]] std::vector<Sent> strips_there(const SlabTask& task, const Place& place) const {
    std::vector<Sent> strips;
    const auto add = [&](const Box3& box, const GridView<T>& from, T* to) {
      each_run_of_rows(static_cast<const T*>(from.data), from.stride, to, place.there.stride, box,
                       [&](const auto& host, const auto& there) {
                         cut(host, there, there.ld, [&](const auto& a, const auto& b) {
                           strips.push_back({a, b});
                         });
                       });
    };
    const int d = plan_.d;
    const Box3 all = place.there.all();
    for (int level = 0; level < levels(); ++level) {
      const GridView<T>& here = place.slab.level[level];
      if (!wrapped()) {
        add(all, here, place.there.level[level]);
        continue;
      }
      // The dimension's range in the slab's indices.
      const index_t begin = -task.out.low[d], end = begin + sweep_.extent()[d];
      Box3 below = all, inside = all, beyond = all;
      below.high[d] = inside.low[d] = std::max(begin, all.low[d]);
      beyond.low[d] = inside.high[d] = std::min(end, all.high[d]);
      GridView<T> other = here;
      other.data += sweep_.extent()[d] * here.stride[d];
      add(below, other, place.there.level[level]);
      add(inside, here, place.there.level[level]);
      GridView<T> first = kept_[static_cast<std::size_t>(level)].view;
      for (int e = 0; e < 3; ++e)
        first.data += (task.out.low[e] - (e == d ? sweep_.extent()[d] : 0)) * first.stride[e];
      if (!beyond.empty()) add(beyond, first, place.there.level[level]);
    }
    return strips;
  }

  [[nodiscard]] std::vector<Brought> strips_back(const SlabTask& task, const Place& place) const {
    std::vector<Brought> strips;
    for (int level = 0; level < levels(); ++level) {
      const GridView<T> to = target(task, level).box(task.out.low, task.out.size());
      each_run_of_rows(place.there.level[level == 0 ? place.turned : 1 - place.turned],
                       place.there.stride, to.data, to.stride, Box3{{}, task.out.size()},
                       [&](const auto& there, const auto& host) {
                         cut(there, host, there.ld, [&](const auto& a, const auto& b) {
                           strips.push_back({a, b});
                         });
                       });
    }
    return strips;
  }

  /// Saves the first points along the cut dimension, with their surroundings in the others, before
  /// results overwrite them.
  void keep(const SlabTask& task) {
    const int d = plan_.d;
    Box3 box = device_sweep(slab_sweep(sweep_, task)).all();
    for (int e = 0; e < 3; ++e) {
      box.low[e] += task.out.low[e];
      box.high[e] += task.out.low[e];
    }
    box.low[d] = 0;
    box.high[d] = sweep_.stencil.radius[d] * task.steps;
    const Index3 size = box.size();
    for (int level = 0; level < levels(); ++level) {
      Kept& kept = kept_[static_cast<std::size_t>(level)];
      if (kept.memory.size() < size.volume()) kept.memory = machine::Buffer<T>(size.volume());
      kept.view = grid_view(kept.memory.data(), size, sweep_.stencil.dims);
      for (int e = 0; e < 3; ++e) kept.view.data -= box.low[e] * kept.view.stride[e];
      for (index_t z = box.low[0]; z < box.high[0]; ++z) {
        for (index_t y = box.low[1]; y < box.high[1]; ++y) {
          const T* row = sweep_.level[level].row(z, y);
          std::copy(row + box.low[2], row + box.high[2], kept.view.row(z, y) + box.low[2]);
        }
      }
    }
  }

  struct Kept {
    machine::Buffer<T> memory;
    GridView<T> view;  ///< in the indices of the sweep
  };

  const Sweep<T>& sweep_;
  const SlabPlan& plan_;
  Device& device_;
  std::vector<SlabTask> tasks_;
  std::array<Place, 3> places_;
  std::array<Kept, 2> kept_;
  std::vector<typename Device::Asked> asked_;  ///< by task
  std::size_t begun_ = 0, brought_ = 0;        ///< tasks
};

}  // namespace tessera::inline v1::stencil
