// Verification of sorted keys, permutations and carried columns by order and hashes.

#include "dist/sort/check.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "dist/sort/grain.hpp"
#include "dist/sort/neighbours.hpp"
#include "dist/sort/sort.hpp"
#include "kernels/sort/variants.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"
#include "machine/team.hpp"
#include "mpi/exchange.hpp"

namespace tessera::inline v1::dist::sort {
namespace {

using tessera::sort::Bits;
using tessera::sort::Content;
using tessera::sort::Inspection;
using tessera::sort::Pair;

/// Returns the number of borders between ranks with keys out of order; first and last are this
/// rank's keys as ordered bits.
index_t wrong_borders(const mpi::Communicator& comm, bool empty, std::uint64_t first,
                      std::uint64_t last) {
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

std::uint64_t hash_bytes(const std::byte* data, index_t bytes) {
  std::uint64_t hash = 0;
  for (index_t at = 0; at < bytes; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + at, static_cast<std::size_t>(std::min<index_t>(8, bytes - at)));
    hash = mix64(hash ^ word);
  }
  return hash;
}

std::uint64_t hash_indexed(const tessera::sort::IndexedRows& column, Hashing hashing) {
  std::uint64_t hash = 0;
  machine::parallel(machine::team_for(column.n * column.bytes, hashing.threads),
                    [&] { hash = tessera::sort::hash_indexed(column, hashing.seed); });
  return hash;
}

/// Returns the hash of the rows at `indices`, relative to `first`.
std::uint64_t hash_of_some(ColumnView column, index_t first, Indices indices, Hashing hashing) {
  constexpr std::size_t at_once = 4096;
  const index_t bytes = column.element_bytes;
  machine::Buffer<std::byte> rows(static_cast<index_t>(at_once) * bytes);
  std::uint64_t hash = 0;
  for (std::size_t j = 0; j < indices.size(); j += at_once) {
    const Indices some = indices.subspan(j, std::min(at_once, indices.size() - j));
    std::byte* to = rows.data();
    for (const std::uint64_t index : some) {
      std::copy_n(column.data + (static_cast<index_t>(index) - first) * bytes, bytes, to);
      to += bytes;
    }
    hash += hash_indexed({rows.data(), bytes, static_cast<index_t>(some.size()), some.data(), 0},
                         hashing);
  }
  return hash;
}

constexpr index_t digits_at_once = 1024;  // in a first-level cache

/// Returns, for a piece of digits_at_once pairs, the number of pairs that are not after their
/// predecessor in the same array or have another row than the permutation, and the hash of the
/// digits with their rows.
std::pair<index_t, std::uint64_t> look_at_pairs(std::span<const Pair> pairs, Indices permutation,
                                                index_t piece, std::uint64_t seed) {
  std::array<std::uint64_t, digits_at_once> digits, rows;
  const auto begin = static_cast<std::size_t>(piece * digits_at_once);
  const std::size_t count = std::min(digits.size(), pairs.size() - begin);
  index_t wrong = 0;
  for (std::size_t j = 0; j < count; ++j) {
    const Pair pair = pairs[begin + j];
    wrong +=
        (begin + j > 0 && !(pairs[begin + j - 1] < pair)) || permutation[begin + j] != pair.index
            ? 1
            : 0;
    digits[j] = pair.key;
    rows[j] = pair.index;
  }
  return {wrong, hash_indexed({reinterpret_cast<const std::byte*>(digits.data()),
                               sizeof(std::uint64_t), static_cast<index_t>(count), rows.data(), 0},
                              {seed, 1})};
}

/// Returns the same hash of equally many rows of this rank in input order.
std::uint64_t hash_of_digits(const std::vector<KeyColumn>& columns, const KeyDigit& digit,
                             layout::Range mine, index_t piece, std::uint64_t seed) {
  std::array<std::uint64_t, digits_at_once> digits, scratch;
  const layout::Range rows{piece * digits_at_once,
                           std::min(mine.size(), (piece + 1) * digits_at_once)};
  key_digit(columns, digit, rows, digits.data(), scratch.data());
  return hash_indexed({reinterpret_cast<const std::byte*>(digits.data()), sizeof(std::uint64_t),
                       rows.size(), nullptr, static_cast<std::uint64_t>(mine.begin + rows.begin)},
                      {seed, 1});
}

/// Returns the sum of the hashes of the numbers of a range.
std::uint64_t hash_of_range(layout::Range range, std::uint64_t seed) {
  std::array<std::uint64_t, 1024> numbers;
  std::uint64_t hash = 0;
  for (index_t i = range.begin; i < range.end; i += static_cast<index_t>(numbers.size())) {
    const auto some = std::span(numbers).first(static_cast<std::size_t>(
        std::min<index_t>(static_cast<index_t>(numbers.size()), range.end - i)));
    std::iota(some.begin(), some.end(), static_cast<std::uint64_t>(i));
    hash += tessera::sort::content(std::span<const std::uint64_t>(some), seed).hash;
  }
  return hash;
}

}  // namespace

template <class T>
Content content(const mpi::Communicator& comm, std::span<const T> keys, Hashing hashing) {
  Content mine;
  machine::parallel(hashing.threads, [&] { mine = tessera::sort::content(keys, hashing.seed); });
  return {comm.sum(mine.count), comm.sum(mine.hash)};
}

template <class T>
index_t faults(const mpi::Communicator& comm, std::span<const T> keys, Order order,
               const Content& input, Hashing hashing) {
  Inspection seen;
  machine::parallel(hashing.threads,
                    [&] { seen = tessera::sort::inspect(keys, order, hashing.seed); });
  return faults(comm, keys, order, input, seen);
}

template <class T>
index_t faults(const mpi::Communicator& comm, std::span<const T> keys, Order order,
               const Content& input, const Inspection& seen) {
  const auto map = tessera::sort::key_map<T>(order);
  const auto bits = [&](const T& key) {
    return std::uint64_t{map.to_bits(std::bit_cast<Bits<T>>(key))};
  };
  const layout::BlockMap shares(input.count, comm.size());
  const bool exact = static_cast<index_t>(keys.size()) == shares.size(comm.rank());
  const index_t borders = wrong_borders(comm, keys.empty(), keys.empty() ? 0 : bits(keys.front()),
                                        keys.empty() ? 0 : bits(keys.back()));
  const bool same = Content{comm.sum(seen.content.count), comm.sum(seen.content.hash)} == input;
  return comm.sum(index_t{seen.sorted ? 0 : 1} + index_t{exact ? 0 : 1}) + borders + (same ? 0 : 1);
}

index_t faults(const mpi::Communicator& comm, const layout::BlockMap& map,
               const std::vector<KeyColumn>& columns, Indices permutation, Hashing hashing) {
  if (!is_permutation(comm, map, permutation, hashing)) return 1;
  if (comm.size() == 1) {
    OrderOfRows order(comm, permutation, columns.size(), hashing.threads);
    for (const KeyColumn& column : columns) order.look_up(column);
    return order.faults();
  }
  return out_of_order(comm, compare_neighbours(comm, map, columns, permutation, hashing.threads));
}

index_t faults(const mpi::Communicator& comm, const layout::BlockMap& map,
               const std::vector<KeyColumn>& columns, const DigitOrder& order, Hashing hashing) {
  const auto& [sorted, permutation] = order;
  TESSERA_EXPECTS(sorted.pairs.size() == static_cast<index_t>(permutation.size()));
  TESSERA_EXPECTS(sorted.pairs.size() == map.size(comm.rank()));
  const layout::Range mine = map.range(comm.rank());
  const std::span<const Pair> pairs = sorted.pairs.span();
  const std::optional<Pair> before = pair_before(comm, pairs);
  std::atomic<index_t> wrong = before && !pairs.empty() && !(*before < pairs.front()) ? 1 : 0;
  std::atomic<std::uint64_t> hash = 0;
  machine::parallel(hashing.threads, [&] {
    machine::parallel_for(0, ceil_div(mine.size(), digits_at_once), 1, [&](index_t piece, index_t) {
      const auto [out_of_order, of_pairs] =
          look_at_pairs(pairs, order.permutation, piece, hashing.seed);
      wrong += out_of_order;
      hash += of_pairs - hash_of_digits(columns, order.sorted.digit, mine, piece, hashing.seed);
    });
  });
  return comm.sum(wrong.load()) + (comm.sum(hash.load()) == 0 ? 0 : 1);
}

bool is_permutation(const mpi::Communicator& comm, const layout::BlockMap& map, Indices indices,
                    Hashing hashing) {
  const layout::Range mine = map.range(comm.rank());
  std::atomic<std::uint64_t> difference = 0;
  machine::parallel(hashing.threads, [&] {
    difference += tessera::sort::content(indices, hashing.seed).hash;
    machine::parallel_for(mine.begin, mine.end, grain, [&](index_t begin, index_t end) {
      difference -= hash_of_range({begin, end}, hashing.seed);
    });
  });
  const index_t count = comm.sum(static_cast<index_t>(indices.size()));
  return comm.sum(difference.load()) == 0 && count == map.extent();
}

std::uint64_t hash_of_places(ColumnView column, layout::Range places, Hashing hashing) {
  return hash_indexed({column.data, column.element_bytes, places.size(), nullptr,
                       static_cast<std::uint64_t>(places.begin)},
                      hashing);
}

std::uint64_t hash_of_sources(ColumnView column, Indices permutation, Hashing hashing) {
  return hash_indexed({column.data, column.element_bytes, static_cast<index_t>(permutation.size()),
                       permutation.data(), 0},
                      hashing);
}

std::vector<std::uint64_t> named_here(const mpi::Communicator& comm, const layout::BlockMap& map,
                                      Indices indices, int threads) {
  std::vector<std::uint64_t> ascending(indices.begin(), indices.end());
  tessera::sort::sort_keys<std::uint64_t>("auto", ascending, threads);
  std::vector<index_t> to(static_cast<std::size_t>(comm.size()));
  auto begin = ascending.begin();
  for (int rank = 0; rank < comm.size(); ++rank) {
    const auto end =
        std::lower_bound(begin, ascending.end(), static_cast<std::uint64_t>(map.begin(rank + 1)));
    to[static_cast<std::size_t>(rank)] = end - begin;
    begin = end;
  }
  const std::vector<index_t> from = comm.all_to_all(to);
  std::vector<std::uint64_t> named(
      static_cast<std::size_t>(std::accumulate(from.begin(), from.end(), index_t{0})));
  mpi::exchange_items(comm, std::span<const std::uint64_t>(ascending), to, std::span(named), from);
  return named;
}

bool carried_whole(const mpi::Communicator& comm, const layout::BlockMap& map,
                   const CarriedColumn& column, Hashing hashing) {
  return comm.sum(hash_of_sources(column.after, column.permutation, hashing) -
                  hash_of_some(column.before, map.begin(comm.rank()), column.named, hashing)) == 0;
}

void hash_rows(ColumnView column, std::span<std::uint64_t> hashes, int threads) {
  const index_t bytes = column.element_bytes;
  machine::parallel(machine::team_for(ssize(hashes) * bytes, threads), [&] {
    machine::parallel_for(0, static_cast<index_t>(hashes.size()), grain,
                          [&](index_t begin, index_t end) {
                            for (index_t j = begin; j < end; ++j) {
                              std::uint64_t& hash = hashes[static_cast<std::size_t>(j)];
                              hash = mix64(hash ^ hash_bytes(column.data + j * bytes, bytes));
                            }
                          });
  });
}

#define INSTANTIATE(T)                                                                         \
  template Content content(const mpi::Communicator&, std::span<const T>, Hashing);             \
  template index_t faults(const mpi::Communicator&, std::span<const T>, Order, const Content&, \
                          Hashing);                                                            \
  template index_t faults(const mpi::Communicator&, std::span<const T>, Order, const Content&, \
                          const Inspection&)
TESSERA_FOR_KEY_TYPES(INSTANTIATE)
#undef INSTANTIATE

}  // namespace tessera::inline v1::dist::sort
