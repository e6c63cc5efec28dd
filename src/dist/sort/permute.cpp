#include "dist/sort/permute.hpp"

#include <algorithm>
#include <cstring>

#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"
#include "mpi/agreement.hpp"
#include "mpi/exchange.hpp"

namespace tessera::dist::sort {
namespace {

using Index = std::uint64_t;

constexpr index_t grain = 1 << 16;  // elements copied by one task

/// to[place(j)] = from[source(j)], elements of a size known here only for the usual ones.
template <class Place, class Source>
void copy_elements(const std::byte* from, std::byte* to, index_t bytes, index_t count, int threads,
                   const Place& place, const Source& source) {
  const auto with_size = [&](auto size) {
    machine::parallel(threads, [&] {
      machine::parallel_for(0, count, grain, [&](index_t begin, index_t end) {
        for (index_t j = begin; j < end; ++j)
          std::memcpy(to + place(j) * size, from + source(j) * size, static_cast<std::size_t>(size));
      });
    });
  };
  switch (bytes) {
    case 4:
      return with_size(std::integral_constant<index_t, 4>{});
    case 8:
      return with_size(std::integral_constant<index_t, 8>{});
    default:
      return with_size(bytes);
  }
}

/// The requests of one round, ordered by who holds the elements.
struct Requests {
  std::vector<index_t> count_to;            // by owner
  machine::Buffer<Index> indices;           // by owner
  machine::Buffer<std::uint32_t> position;  // of each of these among the requests as they were made
};

Requests by_owner(const layout::BlockMap& map, std::span<const Index> indices) {
  const auto count = static_cast<index_t>(indices.size());
  Requests result{std::vector<index_t>(static_cast<std::size_t>(map.parts())), machine::Buffer<Index>(count),
                  machine::Buffer<std::uint32_t>(count)};
  machine::Buffer<std::uint32_t> owner(count);
  for (index_t j = 0; j < count; ++j) {
    const index_t who = map.owner(static_cast<index_t>(indices[static_cast<std::size_t>(j)]));
    owner[j] = static_cast<std::uint32_t>(who);
    ++result.count_to[static_cast<std::size_t>(who)];
  }
  std::vector<index_t> next(result.count_to.size(), 0);
  for (std::size_t r = 1; r < next.size(); ++r) next[r] = next[r - 1] + result.count_to[r - 1];
  for (index_t j = 0; j < count; ++j) {
    const index_t at = next[owner[j]]++;
    result.indices[at] = indices[static_cast<std::size_t>(j)];
    result.position[at] = static_cast<std::uint32_t>(j);
  }
  return result;
}

void gather_round(const mpi::Communicator& comm, const layout::BlockMap& map, ColumnView column,
                  std::span<const Index> indices, std::byte* to, int threads) {
  const index_t bytes = column.element_bytes;
  Requests mine;
  mpi::together(comm, "permute", [&] { mine = by_owner(map, indices); });
  const std::vector<index_t> count_from = comm.all_to_all(mine.count_to);
  index_t asked = 0;
  for (const index_t count : count_from) asked += count;
  machine::Buffer<Index> wanted;
  machine::Buffer<std::byte> answers, arrived;
  mpi::together(comm, "permute", [&] {
    wanted = machine::Buffer<Index>(asked);
    answers = machine::Buffer<std::byte>(asked * bytes);
    arrived = machine::Buffer<std::byte>(static_cast<index_t>(indices.size()) * bytes);
  });
  mpi::exchange_items(comm, std::as_const(mine.indices).span(), mine.count_to, wanted.span(), count_from);
  const auto first = map.begin(comm.rank());
  copy_elements(
      column.data, answers.data(), bytes, asked, threads, [](index_t j) { return j; },
      [&](index_t j) { return static_cast<index_t>(wanted[j]) - first; });
  std::vector<index_t> bytes_to = count_from, bytes_from = mine.count_to;
  for (index_t& count : bytes_to) count *= bytes;
  for (index_t& count : bytes_from) count *= bytes;
  mpi::exchange(comm, std::as_const(answers).span(), bytes_to, arrived.span(), bytes_from);
  copy_elements(
      arrived.data(), to, bytes, static_cast<index_t>(indices.size()), threads,
      [&](index_t j) { return static_cast<index_t>(mine.position[j]); }, [](index_t j) { return j; });
}

}  // namespace

void gather(const mpi::Communicator& comm, const layout::BlockMap& map, ColumnView column,
            std::span<const Index> indices, std::byte* to, int threads) {
  const auto count = static_cast<index_t>(indices.size());
  if (comm.size() == 1) {
    copy_elements(
        column.data, to, column.element_bytes, count, threads, [](index_t j) { return j; },
        [&](index_t j) { return static_cast<index_t>(indices[static_cast<std::size_t>(j)]); });
    return;
  }
  const index_t most = comm.max(count);
  for (index_t done = 0; done < most; done += requests_at_once) {
    const index_t begin = std::min(done, count), size = std::min(requests_at_once, count - begin);
    gather_round(comm, map, column,
                 indices.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(size)),
                 to + begin * column.element_bytes, threads);
  }
}

}  // namespace tessera::dist::sort
