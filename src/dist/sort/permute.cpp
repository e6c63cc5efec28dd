// Gather of elements by global index, in rounds that fit a cache.

#include "dist/sort/permute.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "dist/sort/grain.hpp"
#include "kernels/sort/row_moves.hpp"
#include "machine/fork_join.hpp"
#include "mpi/agreement.hpp"
#include "mpi/exchange.hpp"

namespace tessera::inline v1::dist::sort {
namespace {

using Index = std::uint64_t;

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
std::span<const T> slice(std::span<const T> all, index_t begin, index_t end) {
  return all.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
}

template <class T>
std::span<const T> first(const machine::Buffer<T>& buffer, index_t count) {
  return buffer.span().first(static_cast<std::size_t>(count));
}

/// Returns the bytes of a gather in rounds of `at_once` requests.
index_t bytes_in_rounds(index_t ranks, index_t share, index_t element_bytes, index_t at_once) {
  if (ranks == 1) return 0;
  const index_t mine = std::min(share, at_once);
  const index_t moved = std::min(share, answers_at_once(ranks, mine) + ranks);
  return mine * (8 + 4) + moved * (8 + 2 * element_bytes);
}

}  // namespace

index_t gather_bytes(index_t ranks, index_t share, index_t element_bytes) {
  return bytes_in_rounds(ranks, share, element_bytes, requests_at_once(element_bytes));
}

index_t gather_once_bytes(index_t ranks, index_t share, index_t element_bytes) {
  return bytes_in_rounds(ranks, share, element_bytes, requests_once(element_bytes, share));
}

Gather::Gather(const mpi::Communicator& comm, const layout::BlockMap& map,
               std::span<const Index> indices, int threads, Use use)
    : comm_(comm),
      map_(map),
      indices_(indices),
      threads_(threads),
      most_(comm.max(static_cast<index_t>(indices.size()))),
      use_(use) {}

void Gather::operator()(ColumnView column, std::byte* to) {
  if (comm_.size() == 1) {
    gather_here(column.data, column.element_bytes, indices_, to, threads_);
    return;
  }
  const index_t at_once = use_ == Use::once ? requests_once(column.element_bytes, most_)
                                            : requests_at_once(column.element_bytes);
  const auto count = static_cast<index_t>(indices_.size());
  for (index_t done = 0; done < most_; done += at_once) {
    const index_t begin = std::min(done, count), size = std::min(at_once, count - begin);
    std::byte* const here = to + begin * column.element_bytes;
    if (!made_)
      make_requests(
          indices_.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(size)),
          std::min(most_ - done, at_once));
    for (index_t part = 0; part < requests_.parts; ++part) {
      if (!made_) send_part(part);
      ask_part(column, here);
    }
    made_ = most_ <= at_once && requests_.parts == 1;
    take_own(column, here);
  }
}

void Gather::ask_part(ColumnView column, std::byte* to) {
  const index_t bytes = column.element_bytes;
  mpi::together(comm_, "permute", [&] {
    make_room(answers_, std::max(requests_.most_at_once, part_.by_others) * bytes);
    make_room(arrived_, std::max(requests_.most_at_once, part_.from_others) * bytes);
  });
  gather_here(column.data, bytes, first(part_.wanted, part_.by_others), answers_.data(), threads_);
  std::vector<index_t> bytes_to = part_.count_from, bytes_from = part_.count_to;
  for (index_t& some : bytes_to) some *= bytes;
  for (index_t& some : bytes_from) some *= bytes;
  mpi::exchange(comm_, std::as_const(answers_).span(), bytes_to, arrived_.span(), bytes_from);
  const std::byte* from = std::as_const(arrived_).data();
  for (std::size_t owner = 0; owner < part_.count_to.size(); ++owner) {
    const auto position = std::as_const(requests_.position)
                              .span()
                              .subspan(static_cast<std::size_t>(part_.begin_to[owner]),
                                       static_cast<std::size_t>(part_.count_to[owner]));
    in_pieces(ssize(position), threads_, [&](index_t begin, index_t end) {
      put_in_place(from + begin * bytes, bytes, slice(position, begin, end), to);
    });
    from += part_.count_to[owner] * bytes;
  }
}

void Gather::take_own(ColumnView column, std::byte* to) const {
  const index_t others = requests_.from_others;
  const auto position = first(requests_.position, requests_.count);
  const auto places = first(requests_.indices, requests_.count);
  in_pieces(requests_.count - others, threads_, [&](index_t begin, index_t end) {
    gather_to_place(column.data, column.element_bytes, slice(places, others + begin, others + end),
                    slice(position, others + begin, others + end), to);
  });
}

void Gather::make_requests(std::span<const Index> indices, index_t most) {
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
  const index_t by_others =
      std::accumulate(requests_.count_from.begin(), requests_.count_from.end(), index_t{0});
  const index_t at_once = answers_at_once(comm_.size(), most);
  requests_.parts = std::max<index_t>(
      1, comm_.max(ceil_div(std::max(requests_.from_others, by_others), at_once)));
  requests_.most_at_once = std::min(most, at_once + comm_.size());
}

void Gather::send_part(index_t number) {
  const auto begin_of = [&](index_t count, index_t part) { return count * part / requests_.parts; };
  const auto shares = [&](const std::vector<index_t>& counts) {
    std::vector<index_t> some = counts;
    for (index_t& count : some) count = begin_of(count, number + 1) - begin_of(count, number);
    return some;
  };
  const auto sum = [](const std::vector<index_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), index_t{0});
  };
  part_.count_to = shares(requests_.count_to);
  part_.count_from = shares(requests_.count_from);
  part_.from_others = sum(part_.count_to);
  part_.by_others = sum(part_.count_from);
  part_.begin_to.clear();
  index_t before = 0;  // requests to the ranks so far
  for (const index_t count : requests_.count_to) {
    part_.begin_to.push_back(before + begin_of(count, number));
    before += count;
  }
  mpi::together(comm_, "permute", [&] {
    make_room(part_.wanted, std::max(requests_.most_at_once, part_.by_others));
  });
  mpi::exchange_items(comm_, first(requests_.indices, requests_.from_others), part_.begin_to,
                      part_.count_to, part_.wanted.span(), part_.count_from);
}

}  // namespace tessera::inline v1::dist::sort
