#pragma once
// Distributed sort of keys in the memory of the ranks' devices: partitions the keys first and then
// sorts locally, so every key is sent once, directly into the memory of its rank if accessible.
// Waits only for the smallest keys of every share: copy engines transfer the others while those are
// sorted. Many evenly distributed 64-bit keys are partitioned by the buckets of the local sort
// (divided.hpp).

#include <optional>

#include "dist/sort/bounds.hpp"
#include "dist/sort/divided.hpp"
#include "layout/block_map.hpp"
#include "mpi/device_exchange.hpp"
#include "mpi/phases.hpp"

namespace tessera::inline v1::dist::sort {

using tessera::sort::KeyMap;
using tessera::sort::ResidentKernels;

/// B: the bits of a key, std::uint32_t or std::uint64_t; the map defines their order. At most
/// most_parts ranks.
template <class B>
class DeviceSort {
 public:
  /// Allocates for `total` keys of all ranks, distributed as BlockMap(total, ranks) before and
  /// after. Collective.
  DeviceSort(const mpi::DeviceExchange& exchange, index_t total, const KeyMap<B>& map,
             const ResidentKernels<B>& kernels);

  void put(const B* keys, int threads);  ///< copies this rank's share from host memory
  void get(B* keys,
           int threads) const;  ///< copies this rank's share of the sorted keys to host memory
  /// Returns this rank's share on the device; run() overwrites it, a single rank sorts it in place.
  [[nodiscard]] B* input() { return reinterpret_cast<B*>(input_.data()); }

  /// Sorts. Adds to the phases "split", "exchange" and "sort". Collective.
  void run(mpi::Phases& phases);

  /// Returns whether the last run divided the keys by the buckets of their sort.
  [[nodiscard]] bool divided() const { return divided_; }

  /// Returns the maximal bytes of device memory that a rank uses with any transport.
  [[nodiscard]] static index_t device_bytes(index_t total, index_t ranks,
                                            const ResidentKernels<B>& kernels);

 private:
  using Search = BoundSearch<B>;
  /// keys[r][p]: keys of rank r for part p, which is round p % rounds_ of rank p / rounds_.
  using Counts = std::vector<index_t>;

  [[nodiscard]] B* sorted(std::byte* memory) const { return reinterpret_cast<B*>(memory) + head_; }
  [[nodiscard]] index_t of(index_t from, index_t part) const {
    return counts_[static_cast<std::size_t>(from * ranks_ * rounds_ + part)];
  }
  [[nodiscard]] index_t received(index_t part) const;  ///< from all ranks
  /// Returns the offset of this rank's keys of a part in the sorted keys of the part's rank.
  [[nodiscard]] index_t place(index_t part) const;
  /// Returns whether the partition writes them to their rank directly; otherwise it packs them.
  [[nodiscard]] bool straight(index_t part) const;
  /// Returns whether it sorted the keys except for their borders.
  [[nodiscard]] bool divide_and_sort(mpi::Phases& phases);
  void sort_by_bounds(mpi::Phases& phases);
  void sort(B* keys, B* spare, index_t n, mpi::Phases& phases);
  /// Returns whether the keys are already in order, for example all equal. Collective.
  [[nodiscard]] bool is_in_order();
  void find_bounds();
  void count(const Prefixes<B>& prefixes, std::span<index_t> counts);
  void take_to_ranks();
  void send_packed();
  void send_later_rounds();
  void move_borders();
  void zero(machine::device::Allocation& block, index_t bytes);

  mpi::DeviceExchange exchange_;
  index_t total_, ranks_, rank_, rounds_;
  KeyMap<B> map_;
  ResidentKernels<B> kernels_;
  layout::BlockMap shares_;
  index_t tolerance_,
      head_;  ///< maximal error of a share when bounds are found, in keys, and the space for it
  machine::device::Allocation input_, spare_, work_, digits_, cursors_, host_, zeros_;
  mpi::PeerMemory keys_;
  machine::device::Stream stream_, later_;
  typename Search::FoundBounds found_;
  Counts counts_;
  std::vector<index_t> held_;  ///< by each rank before borders move
  std::optional<DividedSort> dividing_;
  bool divided_ = false;
  B* result_ = nullptr;
};

}  // namespace tessera::inline v1::dist::sort
