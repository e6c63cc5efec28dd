#pragma once
// Bucket sort of 64-bit keys on the ranks' devices: divides the keys into the buckets of the local
// sort before the exchange, so that one counting pass and one dividing pass serve both the exchange
// and the sort. Writes a rank's own buckets and those of the first round directly to their places;
// packs the others, which copy engines transfer while the previous ones are sorted.

#include <array>
#include <functional>

#include "dist/sort/division.hpp"
#include "mpi/device_exchange.hpp"
#include "mpi/phases.hpp"

namespace tessera::inline v1::dist::sort {

/// Returns elements as a row of bytes, as copies to and from devices take them.
template <class T>
auto in_bytes(T* data, index_t count) {
  using Byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
  const index_t bytes = count * static_cast<index_t>(sizeof(T));
  return MatrixView<Byte>{reinterpret_cast<Byte*>(data), 1, bytes, bytes};
}

class DividedSort {
 public:
  using Key = std::uint64_t;

  /// Returns whether a share of `total` keys on `ranks` ranks is long enough for these kernels
  /// (nullptr: there are no kernels), and short enough for their buckets; never on one rank, nor if
  /// they do not run on this rank's device. Local.
  [[nodiscard]] static bool serves(index_t total, index_t ranks, const buckets::Kernels* kernels);
  /// Returns the bytes of device memory that a rank needs in addition to its keys.
  [[nodiscard]] static index_t device_bytes(index_t total, index_t ranks,
                                            const buckets::Kernels& kernels);

  /// Allocates for the keys of all ranks, distributed as BlockMap(total, ranks) before, and after
  /// except for `tolerance` keys at each end. Throws Error(memory) if memory is insufficient.
  DividedSort(const mpi::DeviceExchange& exchange, index_t total, index_t tolerance,
              const tessera::sort::KeyMap<Key>& map, const buckets::Kernels& kernels);

  /// Samples the ranks' keys, and counts them unless the sample rules out a division. Returns
  /// whether they will be divided, the same on all ranks. Collective.
  [[nodiscard]] bool plan(const Key* input);
  /// Returns the number of keys of each rank after run().
  [[nodiscard]] const std::vector<index_t>& held() const { return division_.held; }

  struct Memory {
    Key* input;   ///< this rank's share; overwritten
    Key* packed;  ///< of the same size
    std::function<Key*(index_t)>
        sorted_of;  ///< a rank's buffer of held() keys; accessible if the exchange reaches it
    /// Sorts keys[0:n] by their bits, for parts with too many equal keys, and overwrites
    /// spare[0:n].
    std::function<void(Key* keys, Key* spare, index_t n)> sort_bits;
  };
  /// Executes the plan. Adds to the phases "exchange" and "sort". Collective.
  void run(const Memory& memory, mpi::Phases& phases);

 private:
  using Plan = buckets::Plan;
  /// The division's plan, then one per round.
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
  machine::device::Allocation plans_, work_, host_;
  machine::device::Stream stream_, later_;
  std::array<machine::device::Event, exchange_rounds> sent_;
  KeyDivision division_;
  std::vector<index_t> packed_at_;  // of each bucket, the offset of its packed keys
};

}  // namespace tessera::inline v1::dist::sort
