#pragma once
// The permutation that sorts, by one column or by several.

#include <span>

#include "base/element.hpp"
#include "dist/sort/permute.hpp"
#include "dist/sort/sort.hpp"

namespace tessera::dist::sort {

/// A column to sort by: this rank's part of a BlockMap over all ranks.
struct KeyColumn {
  Element element = Element::u64;
  const std::byte* data = nullptr;
  Order order = Order::ascending;
};

/// Bits whose order is that of numbers: as key.hpp's, but -0 equals +0 and every NaN equals every other, so
/// that what compares equal keeps its order.
template <class T>
[[nodiscard]] std::uint64_t number_bits(T value, const tessera::sort::KeyMap<tessera::sort::Bits<T>>& map);

/// number_bits of a whole column: bits[j] for j in [0, n).
void number_bits(const KeyColumn& column, index_t n, std::uint64_t* bits, int threads);

/// permutation[0 : share] = this rank's part of the stable permutation: element j of the sorted order is
/// element permutation[j] of the columns; the first column weighs most, columns of equal values keep the
/// order they came in. By stable passes from the last column to the first. Collective. Adds to the phases of
/// sort_pairs and to "permute".
void argsort(const mpi::Communicator& comm, const layout::BlockMap& map, std::span<const KeyColumn> columns,
             const Method& method, std::uint64_t* permutation, mpi::Phases& phases);

}  // namespace tessera::dist::sort
