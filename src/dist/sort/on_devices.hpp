#pragma once
// Keys that lie on the ranks' devices, sorted there: every key goes to the device that will hold it
// before anything is sorted, straight into its memory where the ranks reach each other's. There
// only the least keys of every share are waited for: the others travel, by the devices' engines of
// copies, while those are sorted. Many keys of 64 bits that lie evenly are divided by buckets of
// that sort at once (divided.hpp).

#include <optional>

#include "dist/sort/bounds.hpp"
#include "dist/sort/divided.hpp"
#include "layout/block_map.hpp"
#include "mpi/device_exchange.hpp"
#include "mpi/phases.hpp"

namespace tessera::dist::sort {

using tessera::sort::KeyMap;
using tessera::sort::ResidentKernels;

/// B: the bits of a key, std::uint32_t or std::uint64_t; the map says how they are ordered. At most
/// most_parts ranks.
template <class B>
class DeviceSort {
 public:
  /// Takes the memory for `total` keys of all ranks, BlockMap(total, ranks) before and after.
  /// Collective.
  DeviceSort(const mpi::DeviceExchange& exchange, index_t total, const KeyMap<B>& map,
             const ResidentKernels<B>& kernels);

  void put(const B* keys, int threads);  ///< this rank's share, from its host's memory
  void get(B* keys, int threads) const;  ///< of the sorted whole
  /// This rank's share on the device; run() writes over it, and one rank alone sorts it in its
  /// place.
  [[nodiscard]] B* input() { return reinterpret_cast<B*>(input_.data()); }

  /// Collective. Adds to the phases "split", "exchange" and "sort".
  void run(mpi::Phases& phases);

  /// Whether the last run divided the keys by the buckets of their sort.
  [[nodiscard]] bool divided() const { return divided_; }

  /// Bytes of a device's memory that a rank takes at most, whatever the way.
  [[nodiscard]] static index_t device_bytes(index_t total, index_t ranks,
                                            const ResidentKernels<B>& kernels);

 private:
  using Search = BoundSearch<B>;
  /// keys[r][p]: of rank r for part p of the whole, which is round p % rounds_ of rank p / rounds_.
  using Counts = std::vector<index_t>;

  [[nodiscard]] B* sorted(std::byte* memory) const { return reinterpret_cast<B*>(memory) + head_; }
  [[nodiscard]] index_t of(index_t from, index_t part) const {
    return counts_[static_cast<std::size_t>(from * ranks_ * rounds_ + part)];
  }
  [[nodiscard]] index_t received(index_t part) const;  ///< from all ranks
  /// Where this rank's keys of a part go, in the sorted keys of the part's rank.
  [[nodiscard]] index_t place(index_t part) const;
  /// Whether the partition writes them there itself; if not, it packs them.
  [[nodiscard]] bool straight(index_t part) const;
  /// Whether the keys have been sorted but for their borders.
  [[nodiscard]] bool divide_and_sort(mpi::Phases& phases);
  void sort_by_bounds(mpi::Phases& phases);
  void sort(B* keys, B* spare, index_t n, mpi::Phases& phases);
  /// Whether there is nothing to do, as where all keys are equal. Collective.
  [[nodiscard]] bool lies_in_order();
  void find_bounds();
  void count(const Prefixes<B>& prefixes, std::span<index_t> counts);
  void take_to_ranks();
  void send_packed();
  void send_later_rounds();
  void move_borders();
  void zero(machine::device::Block& block, index_t bytes);

  mpi::DeviceExchange exchange_;
  index_t total_, ranks_, rank_, rounds_;
  KeyMap<B> map_;
  ResidentKernels<B> kernels_;
  layout::BlockMap shares_;
  index_t tolerance_,
      head_;  ///< keys that a share may be off by where bounds are found, and room for them
  machine::device::Block input_, spare_, work_, digits_, cursors_, host_, zeros_;
  mpi::PeerMemory keys_;
  machine::device::Stream stream_, later_;
  typename Search::FoundBounds found_;
  Counts counts_;
  std::vector<index_t> held_;  ///< by each rank before borders move
  std::optional<DividedSort> dividing_;
  bool divided_ = false;
  B* result_ = nullptr;
};

}  // namespace tessera::dist::sort
