#pragma once
// The distributed sort: every rank ends with its share to the element.

#include <string>
#include <string_view>
#include <vector>

#include "kernels/sort/variants.hpp"
#include "layout/block_map.hpp"
#include "mpi/communicator.hpp"
#include "mpi/phases.hpp"

namespace tessera::dist::sort {

using tessera::sort::Done;
using tessera::sort::Order;
using tessera::sort::Pair;

/// The ways to share the work, by name.
enum class Algorithm {
  exact,       ///< sort, cut exactly at the borders of the shares, exchange once, merge
  samplesort,  ///< sort, cut at sampled pivots, exchange, merge, then move the borders (Shi and
               ///< Schaeffer 1992)
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
  std::string kernel = "auto";  ///< what each rank runs: a row of sort::variants()
  int threads = 1;
  tessera::sort::Tuning tuning{};
};

/// Into so many pieces rounds cuts a share; its work space is two of them.
inline constexpr index_t pieces_of_share = 16;
/// Keys that rounds needs as scratch to sort n.
[[nodiscard]] index_t parts_scratch(index_t n);

/// What this rank holds: items[0:n], and spare, which overlaps nothing. Both have room for as many
/// items as this rank holds before or after.
template <class T>
struct Room {
  T* items = nullptr;
  T* spare = nullptr;
  index_t n = 0;
};

/// Sorts the items of all ranks together. On return this rank's items are its part of
/// BlockMap(total, ranks): items[begin : end] of the whole in order. The bytes of the whole depend
/// on the input alone, not on ranks, threads or method. Returns how many this rank holds. Keys are
/// ordered as key.hpp says; pairs by (key, index), and their indices must ascend over the ranks.
/// Collective; throws Error(usage) naming the argument for a room or method that no sort has, and
/// AgreedError. Adds to the phases "sort", "split", "exchange" and "merge". `done` may be told of
/// keys in items that stay.
template <class T>
index_t sort_keys(const mpi::Communicator& comm, const Room<T>& room, Order order,
                  const Method& method, mpi::Phases& phases, const Done& done = {});
index_t sort_pairs(const mpi::Communicator& comm, const Room<Pair>& room, const Method& method,
                   mpi::Phases& phases);

/// At the end of a file of templates: DO(type) for every type of keys.
#define TESSERA_FOR_KEY_TYPES(DO) \
  DO(float);                      \
  DO(double);                     \
  DO(std::int32_t);               \
  DO(std::int64_t);               \
  DO(std::uint32_t);              \
  DO(std::uint64_t);

}  // namespace tessera::dist::sort
