#pragma once
// Keys of 64 bits on the ranks' devices, divided into the buckets of their sort before they travel:
// one sweep that counts and one that divides serve the ranks and the sort alike. A rank's own
// buckets and those of the first round are written where they belong; the others are packed, and
// the engines of copies bring them while those before them are sorted.

#include <array>
#include <functional>

#include "dist/sort/division.hpp"
#include "mpi/device_exchange.hpp"
#include "mpi/phases.hpp"

namespace tessera::dist::sort {

class DividedSort {
 public:
  using Key = std::uint64_t;

  /// Whether a share of `total` keys on so many ranks is long enough for these kernels (nullptr:
  /// there are none), and short enough for their buckets; never on one rank.
  [[nodiscard]] static bool serves(index_t total, index_t ranks, const buckets::Kernels* kernels);
  /// Bytes of a device's memory that a rank takes beside its keys.
  [[nodiscard]] static index_t device_bytes(index_t total, index_t ranks,
                                            const buckets::Kernels& kernels);

  /// For the keys of all ranks, BlockMap(total, ranks) before, and after but for `tolerance` keys
  /// at each end. Throws Error(memory) where there is no room.
  DividedSort(const mpi::DeviceExchange& exchange, index_t total, index_t tolerance,
              const tessera::sort::KeyMap<Key>& map, const buckets::Kernels& kernels);

  /// Looks at the ranks' keys, and counts them if that shows nothing against it. Whether they will
  /// be divided: the same on all ranks. Collective.
  [[nodiscard]] bool plan(const Key* input);
  /// Keys of each rank after run().
  [[nodiscard]] const std::vector<index_t>& held() const { return division_.held; }

  struct Memory {
    Key* input;   ///< this rank's share; written over
    Key* packed;  ///< room for as many
    std::function<Key*(index_t)>
        sorted_of;  ///< where a rank has room for held(); reached if the exchange says so
    /// For parts with too many keys alike: sorts keys[0:n] by their bits, and writes over
    /// spare[0:n].
    std::function<void(Key* keys, Key* spare, index_t n)> sort_bits;
  };
  /// What was planned. Collective. Adds to the phases "exchange" and "sort".
  void run(const Memory& memory, mpi::Phases& phases);

 private:
  using Plan = buckets::Plan;
  /// The division's, then one a round.
  [[nodiscard]] Plan* plans() const { return reinterpret_cast<Plan*>(plans_.data()); }
  [[nodiscard]] Plan* host_plans() const { return reinterpret_cast<Plan*>(host_.data()); }
  [[nodiscard]] layout::Range buckets_of(index_t rank, index_t round) const;
  [[nodiscard]] layout::Range keys_of(index_t round) const;
  [[nodiscard]] index_t place(index_t from, index_t bucket) const;
  [[nodiscard]] bool straight(index_t rank, index_t round) const;
  void make_plans(const Memory& memory);
  void start(index_t round, const Memory& memory);
  void arrive(index_t round, const Memory& memory);
  void sort(index_t round, const Memory& memory);
  void sort_what_overflowed(const Memory& memory);

  mpi::DeviceExchange exchange_;
  layout::BlockMap shares_;
  index_t tolerance_, ranks_, rank_;
  tessera::sort::KeyMap<Key> map_;
  buckets::Kernels kernels_;
  buckets::Division into_;
  machine::device::Block plans_, work_, host_;
  machine::device::Stream stream_, later_;
  std::array<machine::device::Event, exchange_rounds> sent_;
  KeyDivision division_;
  std::vector<index_t> packed_at_;  // of each bucket, where its keys lie before they travel
};

}  // namespace tessera::dist::sort
