#pragma once
// The distributed sort: every rank ends with exactly its share.

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/sort/variants.hpp"
#include "layout/block_map.hpp"
#include "machine/fork_join.hpp"
#include "mpi/communicator.hpp"
#include "mpi/phases.hpp"

namespace tessera::inline v1::dist::sort {

using tessera::sort::Done;
using tessera::sort::Order;
using tessera::sort::Pair;

/// Distributed algorithms, by name.
enum class Algorithm {
  exact,       ///< sorts, cuts at exact splitters, exchanges once, merges
  samplesort,  ///< sorts, cuts at sampled splitters, exchanges, merges, then moves the borders
               ///< (PSRS, Shi and Schaeffer 1992)
  rounds,      ///< as exact, in rounds, with an eighth of the keys as work space
};
struct AlgorithmInfo {
  std::string_view name;
  Algorithm algorithm;
  std::string_view about;
};
[[nodiscard]] const std::vector<AlgorithmInfo>& algorithms();

struct Method {
  Algorithm algorithm = Algorithm::exact;
  std::string kernel = "auto";  ///< local kernel of each rank: a row of sort::variants()
  int threads = machine::default_threads();
  tessera::sort::Tuning tuning{};
};

/// Pieces of a share in rounds; its work space is two of them.
inline constexpr index_t pieces_of_share = 16;
/// Returns the scratch keys that rounds needs to sort n keys.
[[nodiscard]] index_t parts_scratch(index_t n);

/// This rank's items: items[0:n], and spare, which overlaps nothing. Both have space for this
/// rank's items before and after the sort.
template <class T>
struct Room {
  T* items = nullptr;
  T* spare = nullptr;
  index_t n = 0;
};

/// Sorts the items of all ranks together. On return this rank's items are its part of
/// BlockMap(total, ranks): items[begin : end] of the sorted sequence. The bytes of the result
/// depend on the input only, not on ranks, threads or method. Returns the number of items on this
/// rank. Keys are ordered as in key.hpp; pairs by (key, index), and their indices must ascend over
/// the ranks. `done` is called for finished keys that stay in items. Throws Error(usage) that names
/// the argument for an invalid room or method, and AgreedError. Adds to the phases "sort", "split",
/// "exchange" and "merge". Keys of less than 32 bits are sorted in copies in 32 bits, without calls
/// of `done`. Collective.
template <class T>
index_t sort_keys(const mpi::Communicator& comm, const Room<T>& room, Order order,
                  const Method& method, mpi::Phases& phases, const Done& done = {});
index_t sort_pairs(const mpi::Communicator& comm, const Room<Pair>& room, const Method& method,
                   mpi::Phases& phases);

using tessera::sort::OtherKey;
using tessera::sort::SortedAs;

/// As above, for keys under other names.
template <OtherKey T>
index_t sort_keys(const mpi::Communicator& comm, const Room<T>& room, Order order,
                  const Method& method, mpi::Phases& phases, const Done& done = {}) {
  using Key = SortedAs<T>;
  const Room<Key> same{reinterpret_cast<Key*>(room.items), reinterpret_cast<Key*>(room.spare),
                       room.n};
  return sort_keys(comm, same, order, method, phases, done);
}

/// As above, without phases.
template <class T>
index_t sort_keys(const mpi::Communicator& comm, const Room<T>& room,
                  Order order = Order::ascending, const Method& method = {}) {
  mpi::Phases unused;
  return sort_keys(comm, room, order, method, unused);
}

/// Sorts the keys of all ranks together, any number of them on each, and leaves each rank its part
/// of BlockMap(total, ranks). Collective.
template <class T>
void sort_keys(const mpi::Communicator& comm, std::vector<T>& keys, Order order = Order::ascending,
               const Method& method = {}) {
  const auto n = static_cast<index_t>(keys.size());
  const layout::BlockMap shares(comm.sum(n), comm.size());
  keys.resize(static_cast<std::size_t>(std::max(n, shares.size(comm.rank()))));
  std::vector<T> spare(keys.size());
  const index_t mine = sort_keys(comm, Room<T>{keys.data(), spare.data(), n}, order, method);
  keys.resize(static_cast<std::size_t>(mine));
}

/// Calls DO(type) for every type of keys of 32 and 64 bits, and of less; at the end of a file of
/// templates.
#define TESSERA_FOR_KEY_TYPES(DO) \
  DO(float);                      \
  DO(double);                     \
  DO(std::int32_t);               \
  DO(std::int64_t);               \
  DO(std::uint32_t);              \
  DO(std::uint64_t);
#define TESSERA_FOR_SMALL_KEY_TYPES(DO) \
  DO(std::int8_t);                      \
  DO(std::int16_t);                     \
  DO(std::uint8_t);                     \
  DO(std::uint16_t);                    \
  DO(Half);

}  // namespace tessera::inline v1::dist::sort
