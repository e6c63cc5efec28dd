// Gather of elements by global index, in rounds that fit a cache.

#include "dist/sort/permute.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/sort/row_moves.hpp"
#include "machine/fork_join.hpp"
#include "mpi/agreement.hpp"
#include "mpi/exchange.hpp"

namespace tessera::dist::sort {
namespace {

using Index = std::uint64_t;

constexpr index_t grain = 1 << 16;  // elements of one task

/// Calls f(begin, end) for pieces of [0, n), in parallel.
template <class F>
void in_pieces(index_t n, int threads, const F& f) {
  machine::parallel(threads, [&] { machine::parallel_for(0, n, grain, f); });
}

/// Sets to[j] to element places[j] of those at `from`.
void gather_here(const std::byte* from, index_t bytes, std::span<const Index> places, std::byte* to,
                 int threads) {
  in_pieces(static_cast<index_t>(places.size()), threads, [&](index_t begin, index_t end) {
    tessera::sort::gather_rows(
        from, bytes,
        places.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)),
        to + begin * bytes);
  });
}

/// Sets to[position[j]] to from[j]; common element sizes are compile-time constants.
void put_in_place(const std::byte* from, index_t bytes, std::span<const std::uint32_t> position,
                  std::byte* to) {
  const auto with_size = [&](auto size) {
    for (const std::uint32_t place : position) {
      std::memcpy(to + index_t{place} * size, from, static_cast<std::size_t>(size));
      from += size;
    }
  };
  switch (bytes) {
    case 4:
      return with_size(std::integral_constant<index_t, 4>{});
    case 8:
      return with_size(std::integral_constant<index_t, 8>{});
    case 16:
      return with_size(std::integral_constant<index_t, 16>{});
    default:
      return with_size(bytes);
  }
}

/// Sets to[position[j]] to element places[j] of those at `from`.
void gather_to_place(const std::byte* from, index_t bytes, std::span<const Index> places,
                     std::span<const std::uint32_t> position, std::byte* to) {
  constexpr index_t room = index_t{16} << 10;  // fits a first-level cache
  const auto at_once =
      static_cast<std::size_t>(std::max<index_t>(1, room / std::max<index_t>(1, bytes)));
  std::vector<std::byte> some(at_once * static_cast<std::size_t>(bytes));
  for (std::size_t j = 0; j < places.size(); j += at_once) {
    const std::size_t count = std::min(at_once, places.size() - j);
    tessera::sort::gather_rows(from, bytes, places.subspan(j, count), some.data());
    put_in_place(some.data(), bytes, position.subspan(j, count), to);
  }
}

/// BlockMap::owner without a division.
class Owners {
 public:
  explicit Owners(const layout::BlockMap& map)
      : begins_(map.offsets()),
        parts_per_index_(static_cast<double>(map.parts()) / static_cast<double>(map.extent())) {}
  [[nodiscard]] std::size_t operator()(Index index) const {
    const auto at = static_cast<index_t>(index);
    auto owner = static_cast<std::size_t>(static_cast<double>(at) * parts_per_index_);
    owner = std::min(owner, begins_.size() - 2);
    while (at < begins_[owner]) --owner;
    while (at >= begins_[owner + 1]) ++owner;
    return owner;
  }
  [[nodiscard]] Index begin(std::size_t owner) const { return static_cast<Index>(begins_[owner]); }

 private:
  std::vector<index_t> begins_;
  double parts_per_index_;
};

template <class T>
void make_room(machine::Buffer<T>& buffer, index_t count) {
  if (buffer.size() >= count) return;
  buffer = machine::Buffer<T>();  // frees the old buffer first
  buffer = machine::Buffer<T>(count);
}

template <class T>
std::span<const T> first(const machine::Buffer<T>& buffer, index_t count) {
  return buffer.span().first(static_cast<std::size_t>(count));
}

}  // namespace

index_t gather_bytes(index_t ranks, index_t share, index_t element_bytes) {
  if (ranks == 1) return 0;
  const index_t at_once = requests_at_once(element_bytes);
  const index_t mine = std::min(share, at_once);
  const index_t asked = std::min(share, checked_mul(at_once, ranks, "number of requests"));
  return mine * (8 + 4 + element_bytes) + asked * (8 + element_bytes);
}

Gather::Gather(const mpi::Communicator& comm, const layout::BlockMap& map,
               std::span<const Index> indices, int threads)
    : comm_(comm),
      map_(map),
      indices_(indices),
      threads_(threads),
      most_(comm.max(static_cast<index_t>(indices.size()))) {}

void Gather::operator()(ColumnView column, std::byte* to) {
  if (comm_.size() == 1) {
    gather_here(column.data, column.element_bytes, indices_, to, threads_);
    return;
  }
  const index_t at_once = requests_at_once(column.element_bytes);
  const auto count = static_cast<index_t>(indices_.size());
  for (index_t done = 0; done < most_; done += at_once) {
    const index_t begin = std::min(done, count), size = std::min(at_once, count - begin);
    if (!made_)
      make_requests(
          indices_.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(size)));
    made_ = most_ <= at_once;
    ask(column, to + begin * column.element_bytes);
  }
}

void Gather::ask(ColumnView column, std::byte* to) {
  const index_t bytes = column.element_bytes, others = requests_.from_others;
  mpi::together(comm_, "permute", [&] {
    make_room(answers_, requests_.by_others * bytes);
    make_room(arrived_, others * bytes);
  });
  gather_here(column.data, bytes, first(requests_.wanted, requests_.by_others), answers_.data(),
              threads_);
  std::vector<index_t> bytes_to = requests_.count_from, bytes_from = requests_.count_to;
  for (index_t& some : bytes_to) some *= bytes;
  for (index_t& some : bytes_from) some *= bytes;
  mpi::exchange(comm_, std::as_const(answers_).span(), bytes_to, arrived_.span(), bytes_from);
  const auto part = [](auto span, index_t begin, index_t end) {
    return span.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  };
  const auto position = first(requests_.position, requests_.count);
  in_pieces(others, threads_, [&](index_t begin, index_t end) {
    put_in_place(std::as_const(arrived_).data() + begin * bytes, bytes, part(position, begin, end),
                 to);
  });
  const auto places = first(requests_.indices, requests_.count);
  in_pieces(requests_.count - others, threads_, [&](index_t begin, index_t end) {
    gather_to_place(column.data, bytes, part(places, others + begin, others + end),
                    part(position, others + begin, others + end), to);
  });
}

void Gather::make_requests(std::span<const Index> indices) {
  const auto count = static_cast<index_t>(indices.size()), chunks = ceil_div(count, grain);
  const auto ranks = static_cast<std::size_t>(comm_.size()),
             me = static_cast<std::size_t>(comm_.rank());
  const Owners owners(map_);
  std::vector<index_t> next(static_cast<std::size_t>(chunks) * ranks);  // by chunk and owner
  const auto by_chunk = [&](const auto& f) {
    machine::parallel(threads_, [&] {
      machine::parallel_for(0, chunks, 1, [&](index_t chunk, index_t) {
        index_t* const of_chunk = next.data() + static_cast<std::size_t>(chunk) * ranks;
        for (index_t j = chunk * grain; j < std::min(count, (chunk + 1) * grain); ++j) {
          const Index index = indices[static_cast<std::size_t>(j)];
          const std::size_t owner = owners(index);
          f(j, index - owners.begin(owner), of_chunk[owner]);
        }
      });
    });
  };
  requests_.count = count;
  requests_.count_to.assign(ranks, 0);
  mpi::together(comm_, "permute", [&] {
    make_room(requests_.indices, count);
    make_room(requests_.position, count);
    by_chunk([](index_t, Index, index_t& counted) { ++counted; });
    index_t sum = 0;
    const auto places_of = [&](std::size_t owner) {
      for (index_t chunk = 0; chunk < chunks; ++chunk)
        sum += std::exchange(next[static_cast<std::size_t>(chunk) * ranks + owner], sum);
    };
    for (std::size_t owner = 0; owner < ranks; ++owner) {
      const index_t before = sum;
      if (owner != me) places_of(owner);
      requests_.count_to[owner] = sum - before;
    }
    requests_.from_others = sum;
    places_of(me);
    by_chunk([&](index_t j, Index within, index_t& at) {
      requests_.indices[at] = within;
      requests_.position[at++] = static_cast<std::uint32_t>(j);
    });
  });
  requests_.count_from = comm_.all_to_all(requests_.count_to);
  requests_.by_others =
      std::accumulate(requests_.count_from.begin(), requests_.count_from.end(), index_t{0});
  mpi::together(comm_, "permute", [&] { make_room(requests_.wanted, requests_.by_others); });
  mpi::exchange_items(comm_, first(requests_.indices, requests_.from_others), requests_.count_to,
                      requests_.wanted.span(), requests_.count_from);
}

}  // namespace tessera::dist::sort
