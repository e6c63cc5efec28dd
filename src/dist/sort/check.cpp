#include "dist/sort/check.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <numeric>

#include "base/hash.hpp"
#include "dist/sort/neighbours.hpp"
#include "dist/sort/sort.hpp"
#include "machine/fork_join.hpp"
#include "mpi/exchange.hpp"

namespace tessera::dist::sort {
namespace {

using tessera::sort::Bits;
using tessera::sort::Content;
using tessera::sort::Inspection;

constexpr index_t grain = 1 << 16;  // elements of one task

/// Borders between ranks whose keys are out of order; first and last are this rank's keys as ordered bits.
index_t wrong_borders(const mpi::Communicator& comm, bool empty, std::uint64_t first, std::uint64_t last) {
  const std::array<std::uint64_t, 3> mine{empty ? 1U : 0U, first, last};
  const auto all = comm.all_gather(std::span<const std::uint64_t>(mine));
  index_t wrong = 0;
  const std::uint64_t* before = nullptr;  // the last key of the ranks so far
  for (std::size_t r = 0; r < all.size(); r += 3) {
    if (all[r] != 0) continue;
    wrong += before != nullptr && all[r + 1] < *before ? 1 : 0;
    before = &all[r + 2];
  }
  return wrong;
}

template <class Sum>
std::uint64_t sum_of(index_t n, int threads, const Sum& sum) {
  std::atomic<std::uint64_t> total = 0;
  machine::parallel(threads, [&] {
    machine::parallel_for(0, n, grain, [&](index_t begin, index_t end) {
      std::uint64_t part = 0;
      for (index_t j = begin; j < end; ++j) part += sum(j);
      total += part;
    });
  });
  return total;
}

std::uint64_t hash_bytes(const std::byte* data, index_t bytes) {
  std::uint64_t hash = 0;
  for (index_t at = 0; at < bytes; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + at, static_cast<std::size_t>(std::min<index_t>(8, bytes - at)));
    hash = mix64(hash ^ word);
  }
  return hash;
}

/// The sum over j in [0, n) of a hash of the element at place(j) with index(j).
template <class IndexOf, class PlaceOf>
std::uint64_t hash_at_indices(ColumnView column, index_t n, std::uint64_t seed, int threads,
                              const IndexOf& index, const PlaceOf& place) {
  const index_t bytes = column.element_bytes;
  return sum_of(n, threads, [&](index_t j) {
    return hash_at(hash_bytes(column.data + place(j) * bytes, bytes), index(j) ^ seed);
  });
}

/// The indices that all ranks ask this one for.
std::vector<std::uint64_t> sent_to_owners(const mpi::Communicator& comm, const layout::BlockMap& map,
                                          Indices indices) {
  std::vector<std::uint64_t> ascending(indices.begin(), indices.end());
  std::sort(ascending.begin(), ascending.end());
  std::vector<index_t> to(static_cast<std::size_t>(comm.size()));
  for (const std::uint64_t index : ascending)
    ++to[static_cast<std::size_t>(map.owner(static_cast<index_t>(index)))];
  const std::vector<index_t> from = comm.all_to_all(to);
  std::vector<std::uint64_t> asked(
      static_cast<std::size_t>(std::accumulate(from.begin(), from.end(), index_t{0})));
  mpi::exchange_items(comm, std::span<const std::uint64_t>(ascending), to, std::span(asked), from);
  return asked;
}

}  // namespace

template <class T>
Content content(const mpi::Communicator& comm, std::span<const T> keys, std::uint64_t seed, int threads) {
  Content mine;
  machine::parallel(threads, [&] { mine = tessera::sort::content(keys, seed); });
  return {comm.sum(mine.count), comm.sum(mine.hash)};
}

template <class T>
index_t faults(const mpi::Communicator& comm, std::span<const T> keys, Order order, const Content& input,
               std::uint64_t seed, int threads) {
  Inspection seen;
  machine::parallel(threads, [&] { seen = tessera::sort::inspect(keys, order, seed); });
  return faults(comm, keys, order, input, seen);
}

template <class T>
index_t faults(const mpi::Communicator& comm, std::span<const T> keys, Order order, const Content& input,
               const Inspection& seen) {
  const auto map = tessera::sort::key_map<T>(order);
  const auto bits = [&](const T& key) { return std::uint64_t{map.to_bits(std::bit_cast<Bits<T>>(key))}; };
  const layout::BlockMap shares(input.count, comm.size());
  const bool exact = static_cast<index_t>(keys.size()) == shares.size(comm.rank());
  const index_t borders = wrong_borders(comm, keys.empty(), keys.empty() ? 0 : bits(keys.front()),
                                        keys.empty() ? 0 : bits(keys.back()));
  const bool same = Content{comm.sum(seen.content.count), comm.sum(seen.content.hash)} == input;
  return comm.sum(index_t{seen.sorted ? 0 : 1} + index_t{exact ? 0 : 1}) + borders + (same ? 0 : 1);
}

index_t faults(const mpi::Communicator& comm, const layout::BlockMap& map,
               const std::vector<KeyColumn>& columns, Indices permutation, std::uint64_t seed, int threads) {
  if (!is_permutation(comm, map, permutation, seed)) return 1;
  return out_of_order(comm, compare_neighbours(comm, map, columns, permutation, threads));
}

bool is_permutation(const mpi::Communicator& comm, const layout::BlockMap& map, Indices indices,
                    std::uint64_t seed) {
  const layout::Range mine = map.range(comm.rank());
  std::uint64_t difference = 0;
  for (const std::uint64_t index : indices) difference += mix64(index ^ seed);
  for (index_t i = mine.begin; i < mine.end; ++i) difference -= mix64(static_cast<std::uint64_t>(i) ^ seed);
  const index_t count = comm.sum(static_cast<index_t>(indices.size()));
  return comm.sum(difference) == 0 && count == map.extent();
}

std::uint64_t hash_of_places(ColumnView column, index_t first, index_t n, std::uint64_t seed, int threads) {
  return hash_at_indices(
      column, n, seed, threads, [&](index_t j) { return static_cast<std::uint64_t>(first + j); },
      [](index_t j) { return j; });
}

std::uint64_t hash_of_sources(ColumnView column, Indices permutation, std::uint64_t seed, int threads) {
  return hash_at_indices(
      column, static_cast<index_t>(permutation.size()), seed, threads,
      [&](index_t j) { return permutation[static_cast<std::size_t>(j)]; }, [](index_t j) { return j; });
}

bool carried_whole(const mpi::Communicator& comm, const layout::BlockMap& map, ColumnView before,
                   ColumnView after, Indices permutation, std::uint64_t seed, int threads) {
  const layout::Range mine = map.range(comm.rank());
  std::uint64_t difference = hash_of_sources(after, permutation, seed, threads);
  if (comm.sum(static_cast<index_t>(permutation.size())) == map.extent()) {
    difference -= hash_of_places(before, mine.begin, mine.size(), seed, threads);
  } else {
    const std::vector<std::uint64_t> asked = sent_to_owners(comm, map, permutation);
    const auto index = [&](index_t j) { return asked[static_cast<std::size_t>(j)]; };
    difference -= hash_at_indices(before, static_cast<index_t>(asked.size()), seed, threads, index,
                                  [&](index_t j) { return static_cast<index_t>(index(j)) - mine.begin; });
  }
  return comm.sum(difference) == 0;
}

void hash_rows(ColumnView column, std::span<std::uint64_t> hashes, int threads) {
  const index_t bytes = column.element_bytes;
  machine::parallel(threads, [&] {
    machine::parallel_for(0, static_cast<index_t>(hashes.size()), grain, [&](index_t begin, index_t end) {
      for (index_t j = begin; j < end; ++j) {
        std::uint64_t& hash = hashes[static_cast<std::size_t>(j)];
        hash = mix64(hash ^ hash_bytes(column.data + j * bytes, bytes));
      }
    });
  });
}

#define INSTANTIATE(T)                                                                         \
  template Content content(const mpi::Communicator&, std::span<const T>, std::uint64_t, int);  \
  template index_t faults(const mpi::Communicator&, std::span<const T>, Order, const Content&, \
                          std::uint64_t, int);                                                 \
  template index_t faults(const mpi::Communicator&, std::span<const T>, Order, const Content&, \
                          const Inspection&)
TESSERA_FOR_KEY_TYPES(INSTANTIATE)
#undef INSTANTIATE

}  // namespace tessera::dist::sort
