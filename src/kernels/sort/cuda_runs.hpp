#pragma once
// Device sort of items in host memory: at once if they fit, otherwise in runs (device_runs.hpp).
// Included only by cuda_rows.cpp.

#include <memory>
#include <vector>

#include "base/timer.hpp"
#include "kernels/sort/common.hpp"
#include "kernels/sort/cuda.hpp"
#include "kernels/sort/device_runs.hpp"
#include "machine/cuda_staging.hpp"
#include "machine/device_times.hpp"
#include "machine/gpu.hpp"

namespace tessera::inline v1::sort {

template <class Item>
[[nodiscard]] auto one_row(Item* data, index_t n) {
  return in_bytes(matrix_view(data, 1, n));
}

/// The operations of pass_runs. Room: sort(items, n, stream) on the device, with work memory for
/// one run.
template <class Item, class Room>
class RunPassage {
 public:
  RunPassage(const DeviceRuns& runs, const Item* from, Item* to, Room& room)
      : runs_(runs),
        from_(from),
        to_(to),
        room_(room),
        staging_({.job_bytes = runs.n * static_cast<index_t>(sizeof(Item))}) {
    for (index_t p = 0; p < std::min(passing_runs, runs.count()); ++p)
      places_.push_back(std::make_unique<Place>(runs.run));
  }

  void wait_for_place(index_t run) { place(run).free.before_next(staging_.sending()); }
  void send(index_t run, index_t at, index_t n) {
    staging_.send(one_row(from_ + runs_.begin(run) + at, n),
                  one_row(place(run).items.data() + at, n));
  }
  void sort(index_t run, index_t n) {
    Place& here = place(run);
    here.filled.record(staging_.sending());
    here.filled.before_next(sorting_);
    machine::cuda::Lap& lap = laps_.next();
    lap.begin.record(sorting_);
    room_.sort(here.items.data(), n, sorting_);
    lap.end.record(sorting_);
    here.sorted.record(sorting_);
  }
  void wait_for_sorted(index_t run) { place(run).sorted.before_next(staging_.bringing()); }
  void bring(index_t run, index_t at, index_t n) {
    staging_.bring(one_row(place(run).items.data() + at, n),
                   one_row(to_ + runs_.begin(run) + at, n));
  }
  void leave(index_t run) { place(run).free.record(staging_.bringing()); }

  [[nodiscard]] machine::DeviceTimes finish() {
    machine::DeviceTimes times = staging_.finish();
    sorting_.wait();
    times.kernels = laps_.take();
    return times;
  }

 private:
  struct Place {
    explicit Place(index_t n) : items(n) {}
    machine::cuda::DeviceBuffer<Item> items;
    machine::cuda::Event filled, sorted, free;
  };
  Place& place(index_t run) { return *places_[static_cast<std::size_t>(run % passing_runs)]; }

  const DeviceRuns& runs_;
  const Item* from_;
  Item* to_;
  Room& room_;
  machine::cuda::Stream sorting_;
  machine::cuda::Staging staging_;
  std::vector<std::unique_ptr<Place>> places_;
  machine::cuda::Laps laps_;
};

/// Work memory for sorting n keys on the device, which leave as keys, or as bits for the merge on
/// the host.
template <class Key, void (*kernel)(const DeviceBlock<Key, NoValue>&, DeviceStream),
          index_t (*work)(index_t)>
class KeyRoom {
 public:
  enum class Leaves { keys, bits };
  KeyRoom(index_t n, const KeyMap<Key>& map, Leaves leaves)
      : spare_(n), work_(work(n)), map_(map), leaves_(leaves) {}
  void sort(Key* keys, index_t n, DeviceStream stream) const {
    kernel({.keys = keys, .spare_keys = spare_.data(), .n = n, .map = map_, .work = work_.data()},
           stream);
    if (leaves_ == Leaves::bits) keys_to_bits(keys, n, map_, stream);
  }
  static index_t bytes(index_t n) { return n * static_cast<index_t>(sizeof(Key)) + work(n); }

 private:
  machine::cuda::DeviceBuffer<Key> spare_;
  machine::cuda::DeviceBuffer<std::byte> work_;
  KeyMap<Key> map_;
  Leaves leaves_;
};

/// Work memory for pairs. Their indices ascend, so a stable sort by key sorts by (key, index).
template <void (*kernel)(const DeviceBlock<std::uint64_t, std::uint64_t>&, DeviceStream),
          index_t (*work)(index_t)>
class PairRoom {
 public:
  explicit PairRoom(index_t n) : keys_(n), values_(n), work_(work(n)) {}
  void sort(Pair* pairs, index_t n, DeviceStream stream) const {
    auto* const spare = reinterpret_cast<std::uint64_t*>(pairs);
    split_pairs(pairs, keys_.data(), values_.data(), n, stream);
    kernel({.keys = keys_.data(),
            .spare_keys = spare,
            .values = values_.data(),
            .spare_values = spare + n,
            .n = n,
            .work = work_.data()},
           stream);
    join_pairs(keys_.data(), values_.data(), pairs, n, stream);
  }
  static index_t bytes(index_t n) { return n * static_cast<index_t>(sizeof(Pair)) + work(n); }

 private:
  machine::cuda::DeviceBuffer<std::uint64_t> keys_, values_;
  machine::cuda::DeviceBuffer<std::byte> work_;
};

/// Sorts block.data; make_room(n, several) allocates work memory for n items at a time, which may
/// be one of several runs. Adds the host's part to the times.
template <class Room, class Item, class MakeRoom>
void sort_through_device(const Block<Item>& block, const MakeRoom& make_room) {
  if (block.n == 0) return;
  constexpr auto size = static_cast<index_t>(sizeof(Item));
  const DeviceRuns runs = plan_device_runs(
      block.n, machine::gpu_memory_limit(block.device_memory),
      [](index_t run, index_t places) { return places * run * size + Room::bytes(run); });
  const bool several = runs.count() > 1;
  {
    Room room = make_room(runs.run, several);
    RunPassage<Item, Room> passage(runs, block.data, several ? block.scratch : block.data, room);
    pass_runs(runs, machine::chunk_bytes_of({.job_bytes = block.n * size}) / size, passage);
    machine::add_device_times(passage.finish());
  }
  if (!several) return;
  const Timer timer;
  machine::parallel(machine::default_threads(), [&] {
    merge_device_runs(runs, static_cast<const Item*>(block.scratch), block.data);
    if constexpr (!std::is_same_v<Item, Pair>)
      map_items(block, [&](Item bits) { return block.map.to_raw(bits); });
  });
  machine::add_device_times({.merge = timer.seconds()});
}

}  // namespace tessera::inline v1::sort
