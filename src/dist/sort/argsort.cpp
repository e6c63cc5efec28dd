#include "dist/sort/argsort.hpp"

#include <cmath>

#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"
#include "mpi/agreement.hpp"

namespace tessera::dist::sort {
namespace {

using Index = std::uint64_t;

constexpr index_t grain = 1 << 16;  // elements of one task

template <class F>
void for_each_index(index_t n, int threads, const F& f) {
  machine::parallel(threads, [&] {
    machine::parallel_for(0, n, grain, [&](index_t begin, index_t end) {
      for (index_t j = begin; j < end; ++j) f(j);
    });
  });
}

/// What one pass works on.
struct Work {
  machine::Buffer<Pair> pairs, spare;
  machine::Buffer<Index> places;
};

/// places[0 : share] = the stable permutation of one column. The column is used up before the sort.
void argsort_once(const mpi::Communicator& comm, const layout::BlockMap& map, const KeyColumn& column,
                  const Method& method, Work& work, mpi::Phases& phases) {
  const layout::Range mine = map.range(comm.rank());
  number_bits(column, mine.size(), work.places.data(), method.threads);
  for_each_index(mine.size(), method.threads, [&](index_t j) {
    work.pairs[j] = {work.places[j], static_cast<Index>(mine.begin + j)};
  });
  const index_t n =
      sort_pairs(comm, Room<Pair>{work.pairs.data(), work.spare.data(), mine.size()}, method, phases);
  TESSERA_EXPECTS(n == mine.size());
  for_each_index(n, method.threads, [&](index_t j) { work.places[j] = work.pairs[j].index; });
}

}  // namespace

template <class T>
std::uint64_t number_bits(T value, const tessera::sort::KeyMap<tessera::sort::Bits<T>>& map) {
  if constexpr (std::is_floating_point_v<T>) {
    if (value == T{0}) value = T{0};
    if (std::isnan(value)) value = std::numeric_limits<T>::quiet_NaN();
  }
  return map.to_bits(std::bit_cast<tessera::sort::Bits<T>>(value));
}

void number_bits(const KeyColumn& column, index_t n, std::uint64_t* bits, int threads) {
  dispatch_element(column.element, [&]<class T>(Type<T>) {
    const auto map = tessera::sort::key_map<T>(column.order);
    const T* values = reinterpret_cast<const T*>(column.data);
    for_each_index(n, threads, [&](index_t j) { bits[j] = number_bits(values[j], map); });
  });
}

void argsort(const mpi::Communicator& comm, const layout::BlockMap& map, std::span<const KeyColumn> columns,
             const Method& method, std::uint64_t* permutation, mpi::Phases& phases) {
  const index_t n = map.size(comm.rank());
  const std::span<Index> result(permutation, static_cast<std::size_t>(n));
  Work work;
  machine::Buffer<std::byte> values;
  mpi::together(comm, "allocate", [&] {
    work = {machine::Buffer<Pair>(n), machine::Buffer<Pair>(n), machine::Buffer<Index>(n)};
    if (columns.size() > 1) values = machine::Buffer<std::byte>(8 * n);
  });
  for (std::size_t c = columns.size(); c-- > 0;) {
    KeyColumn column = columns[c];
    const bool first = c + 1 == columns.size();
    if (!first) {
      const mpi::PhaseScope scope(phases, "permute");
      gather(comm, map, {column.data, static_cast<index_t>(bytes(column.element))}, result, values.data(),
             method.threads);
      column.data = values.data();
    }
    argsort_once(comm, map, column, method, work, phases);
    const mpi::PhaseScope scope(phases, "permute");
    if (!first) {  // places are those of the last order: back to those of the columns
      gather<Index>(comm, map, permutation, work.places.span(), reinterpret_cast<Index*>(values.data()),
                    method.threads);
    }
    const Index* from = first ? work.places.data() : reinterpret_cast<const Index*>(values.data());
    std::copy_n(from, n, permutation);
  }
}

}  // namespace tessera::dist::sort
