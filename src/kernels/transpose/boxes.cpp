// Axis permutation by boxes. A box extends, along axes that are contiguous in memory, as far as
// both sides need for whole runs. It is transposed into a stage in the cache, which is streamed out
// run by run while the lines of the next box are prefetched.

#include "kernels/transpose/boxes.hpp"

#include <array>
#include <utility>

#include "machine/fork_join.hpp"

namespace tessera::inline v1::transpose {
namespace {

constexpr index_t stage_bytes =
    128 << 10;  // on the stack of a task; fits any L2 together with the next source
constexpr index_t least_room =
    32 << 10;  // minimum share of it for a box (36^5 f64 by 2,0,4,1,3: 0.80 of memcpy, 64 KiB 0.72)
constexpr index_t read_run = 512;     // contiguous bytes in `from`
constexpr index_t short_run = 512;    // contiguous bytes in `to` that justify twice that room
constexpr index_t write_piece = 512;  // bytes streamed out between prefetches of the next box
constexpr index_t long_record = 256;  // minimum bytes of records that are streamed without a stage

using Sides = std::array<index_t, max_rank>;

/// An iterator over the indices of up to max_rank axes, the last one fastest.
class Odometer {
 public:
  index_t a = 0, b = 0;  ///< offsets of the current index on two sides

  void add(index_t count, index_t a_step, index_t b_step) {
    if (count != 1) wheel_[rank_++] = {count, a_step, b_step, 0};
  }
  bool next() {
    for (int k = rank_ - 1; k >= 0; --k) {
      Wheel& w = wheel_[k];
      a += w.a;
      b += w.b;
      if (++w.at < w.count) return true;
      a -= w.count * w.a;
      b -= w.count * w.b;
      w.at = 0;
    }
    return false;
  }

 private:
  struct Wheel {
    index_t count, a, b, at;
  };
  Wheel wheel_[max_rank];
  int rank_ = 0;
};

/// Extends the sides along the axes that are contiguous on one side until a run there has `want`
/// bytes.
void cover(const Rearrangement& task, index_t Axis::*stride, index_t want, Sides& sides) {
  const index_t unit = has_leaf(task.bytes) ? line_bytes / task.bytes : 1;
  index_t run = task.bytes;
  for (int k = 0; k < task.rank && run < want; ++k) {
    const Axis& axis = task.axis[k];
    if (axis.*stride != run || axis.extent == 1) continue;
    const index_t parts = std::max<index_t>(1, axis.extent / ceil_div(want, run));
    const index_t grain = run == task.bytes && parts > 1 ? unit : 1;
    index_t& mine = sides[static_cast<std::size_t>(k)];
    mine = std::max(mine, std::min(round_up(ceil_div(axis.extent, parts), grain), axis.extent));
    if (mine < axis.extent) return;
    run *= axis.extent;
    k = -1;
  }
}

/// Returns the bytes of the run with which a box begins on one side; sets its axes to 1 in `side`.
index_t take_run(const Rearrangement& task, index_t Axis::*stride, Sides& side) {
  index_t run = task.bytes;
  for (int k = 0; k < task.rank; ++k) {
    index_t& mine = side[static_cast<std::size_t>(k)];
    if (task.axis[k].*stride != run || mine == 1) continue;
    const bool whole = mine == task.axis[k].extent;
    run *= std::exchange(mine, 1);
    if (!whole) break;
    k = -1;  // restart at the first axis to find the next axis of the run
  }
  return run;
}

/// Returns the sides of a whole box: the longest runs of `to` that fit into the stage.
Sides sides_of(const Rearrangement& task) {
  const index_t room = std::max(least_room, stage_bytes / task.bytes);
  const index_t more_room = std::min(2 * room, stage_bytes);
  for (index_t write_run = 16 << 10;; write_run /= 2) {
    Sides sides;
    sides.fill(1);
    cover(task, &Axis::to, write_run, sides);
    cover(task, &Axis::from, std::min(read_run, write_run), sides);
    index_t bytes = task.bytes;
    for (const index_t side : sides) bytes *= side;
    if (bytes <= (write_run > short_run ? room : more_room) || write_run <= task.bytes)
      return sides;
  }
}

struct Box {
  Sides side{};
  index_t from = 0, to = 0;  ///< offset of its first record
};

/// The lines of `from` that a box reads, prefetched incrementally.
class Fetch {
 public:
  Fetch(const Rearrangement& task, const Box& box, const std::byte* from) : at_(from + box.from) {
    Sides rest = box.side;
    run_ = take_run(task, &Axis::from, rest);
    lines_ = ceil_div(run_, line_bytes);
    for (int k = 0; k < task.rank; ++k) {
      const index_t side = rest[static_cast<std::size_t>(k)];
      runs_.add(side, task.axis[k].from, 0);
      lines_ *= side;
    }
  }
  [[nodiscard]] index_t lines() const { return lines_; }
  void operator()(index_t lines) {
    for (; lines > 0 && more_; --lines) {
      __builtin_prefetch(at_ + runs_.a + done_, 0, 2);
      if ((done_ += line_bytes) < run_) continue;
      done_ = 0;
      more_ = runs_.next();
    }
  }

 private:
  const std::byte* at_;
  Odometer runs_;
  index_t run_ = 0, lines_ = 0, done_ = 0;
  bool more_ = true;
};

/// A mover of boxes; `turn` transposes the block that a Leaf describes.
template <class Turn>
class Mover {
 public:
  Mover(const Rearrangement& task, const std::byte* from, std::byte* to, const Turn& turn)
      : task_(task), from_(from), to_(to), turn_(turn), whole_(sides_of(task)) {
    for (int k = 0; k < task.rank; ++k) {
      count_ *= boxes_along(k);
      if (task.axis[k].from < task.axis[fast_from_].from) fast_from_ = k;
    }
  }

  void run(Store store) const {
    index_t bytes = task_.bytes;
    for (const index_t side : whole_) bytes *= side;
    const index_t grain =
        std::max<index_t>(1, (store == Store::cached ? 64 << 10 : 1 << 20) / bytes);
    machine::parallel_for(0, count_, grain, [&](index_t begin, index_t end) {
      if (store != Store::cached) return stream_boxes(begin, end);
      for (index_t number = begin; number < end; ++number) turn_in_cache(box(number));
    });
  }

 private:
  [[nodiscard]] index_t boxes_along(int k) const {
    return ceil_div(task_.axis[k].extent, whole_[static_cast<std::size_t>(k)]);
  }

  /// Returns box `number` in the order of `to`, so that a box continues the rows of the previous
  /// one.
  [[nodiscard]] Box box(index_t number) const {
    Box found;
    found.side.fill(1);
    for (int k = task_.rank - 1; k >= 0; --k) {
      const Axis& axis = task_.axis[k];
      const auto at = static_cast<std::size_t>(k);
      const index_t first = number % boxes_along(k) * whole_[at];
      number /= boxes_along(k);
      found.side[at] = std::min(whole_[at], axis.extent - first);
      found.from += first * axis.from;
      found.to += first * axis.to;
    }
    return found;
  }

  void turn_in_cache(const Box& box) const {
    Sides strides;
    for (int k = 0; k < task_.rank; ++k) strides[static_cast<std::size_t>(k)] = task_.axis[k].to;
    turn_slices(box, to_ + box.to, strides);
  }

  void stream_boxes(index_t begin, index_t end) const {
    alignas(line_bytes) std::byte stage[stage_bytes];
    Box present = box(begin);
    for (index_t number = begin; number < end; ++number) {
      const Box next = box(std::min(number + 1, count_ - 1));
      Fetch fetch(task_, next, from_);
      if (task_.bytes >= long_record) {
        stream_records(present, fetch);
      } else {
        const Sides strides = stage_strides(present);
        turn_slices(present, stage, strides);
        stream_stage(present, stage, strides, fetch);
      }
      present = next;
    }
    set_.fence();
  }

  /// Returns the strides of a stage that holds a box in the order of `to`.
  [[nodiscard]] Sides stage_strides(const Box& box) const {
    Sides strides;
    index_t stride = task_.bytes;
    for (int k = task_.rank - 1; k >= 0; --k) {
      strides[static_cast<std::size_t>(k)] = stride;
      stride *= box.side[static_cast<std::size_t>(k)];
    }
    return strides;
  }

  /// Transposes the slices of a box along the fastest axes of both sides.
  void turn_slices(const Box& box, std::byte* to, const Sides& strides) const {
    const int fast_to = task_.rank - 1;
    Odometer slices;
    for (int k = 0; k < task_.rank; ++k) {
      const auto at = static_cast<std::size_t>(k);
      if (k != fast_from_ && k != fast_to)
        slices.add(box.side[at], task_.axis[k].from, strides[at]);
    }
    const auto wide = static_cast<std::size_t>(fast_from_),
               high = static_cast<std::size_t>(fast_to);
    do {
      turn_(Leaf{from_ + box.from + slices.a, task_.axis[fast_to].from, to + slices.b,
                 strides[wide], box.side[high], box.side[wide], task_.bytes, Store::cached});
    } while (slices.next());
  }

  /// Streams the runs of a stage to their destination.
  void stream_stage(const Box& box, const std::byte* stage, const Sides& strides,
                    Fetch& fetch) const {
    Sides rest = box.side;
    const index_t run = take_run(task_, &Axis::to, rest);
    index_t pieces = ceil_div(run, write_piece);
    Odometer runs;
    for (int k = 0; k < task_.rank; ++k) {
      const auto at = static_cast<std::size_t>(k);
      runs.add(rest[at], task_.axis[k].to, strides[at]);
      pieces *= rest[at];
    }
    const index_t lines = ceil_div(fetch.lines(), pieces);
    do {
      stream_run(to_ + box.to + runs.a, stage + runs.b, run, lines, fetch);
    } while (runs.next());
  }

  void stream_records(const Box& box, Fetch& fetch) const {
    Odometer records;
    for (int k = 0; k < task_.rank; ++k)
      records.add(box.side[static_cast<std::size_t>(k)], task_.axis[k].from, task_.axis[k].to);
    do {
      stream_run(to_ + box.to + records.b, from_ + box.from + records.a, task_.bytes,
                 write_piece / line_bytes + 1, fetch);
    } while (records.next());
  }

  /// Streams a run piece by piece and prefetches `lines` lines of the next box before each piece.
  void stream_run(std::byte* to, const std::byte* from, index_t bytes, index_t lines,
                  Fetch& fetch) const {
    for (index_t done = 0, size = 0; done < bytes; done += size) {
      size = std::min(bytes - done, write_piece + bytes_to_line(to + done));
      fetch(lines);
      set_.stream(to + done, from + done, size);
    }
  }

  const Rearrangement& task_;
  const std::byte* from_;
  std::byte* to_;
  const Turn& turn_;
  Sides whole_;
  index_t count_ = 1;
  int fast_from_ = 0;
  const LeafSet& set_ = leaf_set(machine::isa());
};

}  // namespace

void rearrange(const Rearrangement& task, const std::byte* from, std::byte* to, Store store) {
  if (has_leaf(task.bytes))
    return Mover(task, from, to, leaf_set(machine::isa()).transpose).run(store);
  with_record(task.bytes, [&](auto copy) {
    const auto turn = [copy](const Leaf& slice) {
      for (index_t j = 0; j < slice.cols; ++j) {
        std::byte* const row = slice.b + j * slice.b_stride;
        for (index_t i = 0; i < slice.rows; ++i)
          copy(row + i * slice.bytes, slice.a + i * slice.a_stride + j * slice.bytes);
      }
    };
    Mover(task, from, to, turn).run(store);
  });
}

}  // namespace tessera::inline v1::transpose
