#pragma once
// Searches in, and groups of, sorted keys of all ranks, any number of them on each.
//
// Keys are compared as numbers: -0 equals 0, all NaN are equal and last, in either order. Keys that
// sort_keys() has sorted are in that order. Positions count the keys of all ranks, rank by rank.

#include <ranges>
#include <span>
#include <utility>
#include <vector>

#include "dist/sort/sort.hpp"

namespace tessera::inline v1::dist::sort {

/// The position before the keys that equal a value, or behind them.
enum class SearchSide { left, right };

/// A vector, array or span of keys.
template <class R>
concept KeyRange = std::ranges::contiguous_range<R> && std::ranges::sized_range<R>;

/// Returns keys under other names as those of the type that sorts them.
template <OtherKey T>
[[nodiscard]] std::span<const SortedAs<T>> as_sorted(std::span<const T> keys) {
  return {reinterpret_cast<const SortedAs<T>*>(keys.data()), keys.size()};
}

/// Returns for each of this rank's values the position at which it would keep `sorted`, this rank's
/// part of the sorted keys, in order. Ranks may have any number of keys and of values. Throws
/// Error(usage), naming the argument, on all ranks if the first and last keys of the ranks are not
/// in order; others are not looked at. Sends each value once, to the rank that has its place.
/// Collective.
template <class T>
[[nodiscard]] std::vector<index_t> searchsorted(const mpi::Communicator& comm,
                                                std::span<const T> sorted,
                                                std::span<const T> values,
                                                SearchSide side = SearchSide::left,
                                                Order order = Order::ascending);
/// As above, for keys under other names.
template <OtherKey T>
[[nodiscard]] std::vector<index_t> searchsorted(const mpi::Communicator& comm,
                                                std::span<const T> sorted,
                                                std::span<const T> values,
                                                SearchSide side = SearchSide::left,
                                                Order order = Order::ascending) {
  return searchsorted(comm, as_sorted(sorted), as_sorted(values), side, order);
}
/// As above, for vectors, arrays and spans of keys of one type.
template <KeyRange R, KeyRange V>
[[nodiscard]] std::vector<index_t> searchsorted(const mpi::Communicator& comm, const R& sorted,
                                                const V& values, SearchSide side = SearchSide::left,
                                                Order order = Order::ascending) {
  return searchsorted(comm, std::span<const std::ranges::range_value_t<R>>(sorted),
                      std::span<const std::ranges::range_value_t<R>>(values), side, order);
}

/// Groups of equal keys, each on the rank of its first key.
struct Groups {
  std::vector<index_t> begins;  ///< positions of the first keys of this rank's groups
  index_t end = 0;              ///< of this rank's last group: the begin of the next one of all
};
/// Returns this rank's groups. Throws Error(usage), naming the argument, on all ranks if `sorted`
/// is not in order. Collective.
template <class T>
[[nodiscard]] Groups group_boundaries(const mpi::Communicator& comm, std::span<const T> sorted,
                                      Order order = Order::ascending,
                                      int threads = machine::default_threads());
template <OtherKey T>
[[nodiscard]] Groups group_boundaries(const mpi::Communicator& comm, std::span<const T> sorted,
                                      Order order = Order::ascending,
                                      int threads = machine::default_threads()) {
  return group_boundaries(comm, as_sorted(sorted), order, threads);
}
template <KeyRange R>
[[nodiscard]] Groups group_boundaries(const mpi::Communicator& comm, const R& sorted,
                                      Order order = Order::ascending,
                                      int threads = machine::default_threads()) {
  return group_boundaries(comm, std::span<const std::ranges::range_value_t<R>>(sorted), order,
                          threads);
}

/// Distinct keys, the first of each group, with the number of keys in their groups.
template <class T>
struct Distinct {
  std::vector<T> keys;
  std::vector<index_t> counts;
};
/// Returns those of this rank's groups. Throws as group_boundaries(). Collective.
template <class T>
[[nodiscard]] Distinct<T> unique(const mpi::Communicator& comm, std::span<const T> sorted,
                                 Order order = Order::ascending,
                                 int threads = machine::default_threads());
template <OtherKey T>
[[nodiscard]] Distinct<T> unique(const mpi::Communicator& comm, std::span<const T> sorted,
                                 Order order = Order::ascending,
                                 int threads = machine::default_threads()) {
  Distinct<SortedAs<T>> found = unique(comm, as_sorted(sorted), order, threads);
  return {{found.keys.begin(), found.keys.end()}, std::move(found.counts)};
}
template <KeyRange R>
[[nodiscard]] Distinct<std::ranges::range_value_t<R>> unique(
    const mpi::Communicator& comm, const R& sorted, Order order = Order::ascending,
    int threads = machine::default_threads()) {
  return unique(comm, std::span<const std::ranges::range_value_t<R>>(sorted), order, threads);
}

}  // namespace tessera::inline v1::dist::sort
