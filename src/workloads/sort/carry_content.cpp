// Strings of variable length and references: rank 0 carries them through HDF5, in the order of the
// permutation that it gathers.

#include <algorithm>
#include <utility>

#include "io/carried_rows.hpp"
#include "mpi/agreement.hpp"
#include "workloads/sort/problem.hpp"

namespace tessera::inline v1::workloads::sort {
namespace {

/// Returns the whole permutation on rank 0, nothing elsewhere. Collective.
std::vector<std::uint64_t> gathered(const mpi::Communicator& comm,
                                    std::span<const std::uint64_t> mine) {
  constexpr int tag = 0;
  const std::vector<index_t> counts = comm.all_gather(static_cast<index_t>(mine.size()));
  if (!comm.is_root()) {
    comm.send(std::as_bytes(mine), 0, tag).wait();
    return {};
  }
  std::vector<std::uint64_t> all(mine.begin(), mine.end());
  for (int rank = 1; rank < comm.size(); ++rank) {
    const std::size_t first = all.size();
    all.resize(first + static_cast<std::size_t>(counts[static_cast<std::size_t>(rank)]));
    comm.receive(std::as_writable_bytes(std::span(all).subspan(first)), rank, tag).wait();
  }
  return all;
}

bool needs_it(const io::Column& column) { return !column.info.self_contained; }

/// Returns the bytes of rounds: a quarter of the memory is not worth fewer of them.
index_t bytes_of_rounds(const Problem& problem) {
  return std::min(problem.content_bytes, problem.allowance.net_of_program() / 4);
}

/// Returns the bytes of the largest column of references, which is held twice to find its objects.
index_t bytes_of_references(const Problem& problem) {
  index_t most = 0;
  for (const io::Column& column : problem.carried)
    if (holds_references(column))
      most = std::max(most, 2 * checked_mul(column.rows(), column.row_bytes(), "a column"));
  return most;
}

}  // namespace

bool holds_references(const io::Column& column) { return column.info.type_text() == "reference"; }

index_t content_bytes(const mpi::Communicator& comm, const Inputs& inputs, const Problem& problem) {
  if (std::ranges::none_of(problem.carried, needs_it)) return 0;
  index_t most = 0;
  mpi::on_root(comm, "read", [&] {
    for (const io::Column& column : problem.carried)
      if (needs_it(column))
        most = std::max(most, io::carried_bytes(inputs.data->name(column), problem.n));
  });
  return comm.max(most);
}

index_t content_share(const Problem& problem) {
  if (problem.content_bytes == 0) return 0;
  return bytes_of_rounds(problem) + bytes_of_references(problem);
}

void carry_content(const mpi::Communicator& comm, const Inputs& inputs, const Problem& problem,
                   const ResultRows& rows, run::Outputs& outputs) {
  if (std::ranges::none_of(problem.carried, needs_it)) return;
  const std::vector<std::uint64_t> all = gathered(comm, rows.permutation);
  const io::RowOrder order{ssize(all),
                           [&](index_t first, std::span<std::uint64_t> numbers) {
                             std::copy_n(all.begin() + first, numbers.size(), numbers.begin());
                           },
                           bytes_of_rounds(problem)};
  mpi::on_root(comm, "write", [&] {
    for (std::size_t c = 0; c < problem.carried.size(); ++c)
      if (needs_it(problem.carried[c]))
        outputs.write_rows_of(rows.places[c], inputs.data->name(problem.carried[c]), order);
  });
}

}  // namespace tessera::inline v1::workloads::sort
