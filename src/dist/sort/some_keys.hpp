#pragma once
// Parts of sorted keys: the first ones without sorting the others, and each distinct one once.

#include <functional>
#include <span>

#include "dist/sort/select.hpp"
#include "dist/sort/sort.hpp"
#include "machine/buffer.hpp"

namespace tessera::dist::sort {

/// The keys as ordered bits, told in pieces.
template <class T>
[[nodiscard]] BitsPass bits_pass(std::span<const T> keys, Order order);

/// This rank's part of BlockMap(min(count, all), ranks) of the sorted keys: the last key among them
/// is found by counting, and only they are sorted. Collective. Adds to the phases of sort_keys and
/// to "select".
template <class T>
[[nodiscard]] machine::Buffer<T> sort_first(const mpi::Communicator& comm, std::span<const T> keys,
                                            index_t count, Order order, const Method& method,
                                            mpi::Phases& phases);

/// How many things are wrong with what sort_first made of the keys: order and shares as in
/// faults(), and one unless what lies before its last key is the same, key by key, in both.
/// Collective.
template <class T>
[[nodiscard]] index_t faults_of_first(const mpi::Communicator& comm, std::span<const T> keys,
                                      index_t count, std::span<const T> first, Order order,
                                      std::uint64_t seed, int threads);

/// to[0 : returned] = each of this rank's sorted keys that differs as a number (-0 is 0, every NaN
/// is one) from the key before it, here or on a rank before. Collective.
template <class T>
[[nodiscard]] index_t keep_distinct(const mpi::Communicator& comm, std::span<const T> sorted,
                                    Order order, T* to);

/// One on every rank where the distinct keys are not those of the sorted ones, each once; summed.
/// Collective.
template <class T>
[[nodiscard]] index_t faults_of_distinct(const mpi::Communicator& comm, std::span<const T> sorted,
                                         std::span<const T> distinct, Order order);

}  // namespace tessera::dist::sort
