#pragma once
// Partial sorts of keys: the first ones (top k) without sorting the others, and each distinct one
// once.

#include <functional>
#include <span>

#include "dist/sort/check.hpp"
#include "dist/sort/select.hpp"
#include "dist/sort/sort.hpp"
#include "machine/buffer.hpp"

namespace tessera::inline v1::dist::sort {

/// Returns a pass over the keys as ordered bits.
template <class T>
[[nodiscard]] BitsPass bits_pass(std::span<const T> keys, Order order);

/// A task: the first `count` of the keys in this order.
template <class T>
struct FirstKeys {
  std::span<const T> keys;  ///< of this rank
  index_t count = 0;
  Order order = Order::ascending;
};

/// Returns this rank's part of BlockMap(min(count, all), ranks) of the sorted keys: finds the last
/// key by counting and sorts only the keys up to it. Adds to the phases of sort_keys and to
/// "select". Collective.
template <class T>
[[nodiscard]] machine::Buffer<T> sort_first(const mpi::Communicator& comm, const FirstKeys<T>& task,
                                            const Method& method, mpi::Phases& phases);

/// Returns the number of faults of sort_first's result: order and shares as in faults(), and one
/// unless the keys before its last key are the same in both. Collective.
template <class T>
[[nodiscard]] index_t faults_of_first(const mpi::Communicator& comm, const FirstKeys<T>& task,
                                      std::span<const T> first, Hashing hashing);

/// Copies to to[0 : returned] each of this rank's sorted keys that differs as a number (-0 is 0,
/// all NaN are equal) from the previous key, here or on a lower rank. Returns their number.
/// Collective.
template <class T>
[[nodiscard]] index_t keep_distinct(const mpi::Communicator& comm, std::span<const T> sorted,
                                    Order order, T* to);

/// Returns the number of ranks on which the distinct keys are not those of the sorted ones, each
/// once. Collective.
template <class T>
[[nodiscard]] index_t faults_of_distinct(const mpi::Communicator& comm, std::span<const T> sorted,
                                         std::span<const T> distinct, Order order);

}  // namespace tessera::inline v1::dist::sort
