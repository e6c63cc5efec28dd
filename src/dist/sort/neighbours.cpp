// Comparison of adjacent rows, across ranks as well.

#include "dist/sort/neighbours.hpp"

#include <algorithm>
#include <utility>

#include "dist/sort/grain.hpp"
#include "machine/fork_join.hpp"
#include "mpi/agreement.hpp"

namespace tessera::inline v1::dist::sort {
namespace {

/// Returns the last index of the nearest lower rank with any rows; -1 if there are none.
index_t index_before(const mpi::Communicator& comm, std::span<const std::uint64_t> permutation) {
  const auto lasts =
      comm.all_gather(permutation.empty() ? index_t{-1} : static_cast<index_t>(permutation.back()));
  index_t before = -1;
  for (int r = 0; r < comm.rank(); ++r)
    before = lasts[static_cast<std::size_t>(r)] >= 0 ? lasts[static_cast<std::size_t>(r)] : before;
  return before;
}

}  // namespace

AdjacentRows compare_neighbours(const mpi::Communicator& comm, const layout::BlockMap& map,
                                const std::vector<KeyColumn>& columns,
                                std::span<const std::uint64_t> permutation, int threads) {
  const index_t before = index_before(comm, permutation);
  AdjacentRows rows;
  rows.has_row_before = before >= 0 && !permutation.empty();
  const index_t extra = rows.has_row_before ? 1 : 0;
  const index_t count = static_cast<index_t>(permutation.size()) + extra;
  const index_t steps = std::max<index_t>(0, count - 1);
  machine::Buffer<std::uint64_t> words, of_rows;
  mpi::together(comm, "verify", [&] {
    rows.indices = machine::Buffer<std::uint64_t>(count);
    rows.steps = machine::Buffer<KeyStep>(steps);
    words = machine::Buffer<std::uint64_t>(map.size(comm.rank()));
    of_rows = machine::Buffer<std::uint64_t>(count);
  });
  if (extra > 0) rows.indices[0] = static_cast<std::uint64_t>(before);
  std::copy(permutation.begin(), permutation.end(), rows.indices.begin() + extra);
  std::fill(rows.steps.begin(), rows.steps.end(), KeyStep::equal);
  Gather gather(comm, map, std::as_const(rows.indices).span(), threads, Gather::Use::once);
  for (const KeyColumn& column : columns) {
    for (index_t word = 0; word < column.form.words(); ++word) {
      key_word(column, word, words.size(), words.data(), threads);
      gather({reinterpret_cast<const std::byte*>(words.data()), sizeof(std::uint64_t)},
             reinterpret_cast<std::byte*>(of_rows.data()));
      machine::parallel(threads, [&] {
        machine::parallel_for(0, steps, grain, [&](index_t begin, index_t end) {
          for (index_t j = begin; j < end; ++j) {
            if (rows.steps[j] == KeyStep::equal && of_rows[j] != of_rows[j + 1])
              rows.steps[j] = of_rows[j] < of_rows[j + 1] ? KeyStep::up : KeyStep::down;
          }
        });
      });
    }
  }
  return rows;
}

index_t out_of_order(const mpi::Communicator& comm, const AdjacentRows& rows) {
  index_t wrong = 0;
  for (index_t j = 0; j < rows.steps.size(); ++j) {
    const bool tie_holds = rows.indices[j] < rows.indices[j + 1];
    wrong +=
        rows.steps[j] == KeyStep::down || (rows.steps[j] == KeyStep::equal && !tie_holds) ? 1 : 0;
  }
  return comm.sum(wrong);
}

}  // namespace tessera::inline v1::dist::sort
