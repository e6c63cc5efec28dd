#pragma once
// Elements by their global index, wherever they lie.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "layout/block_map.hpp"
#include "machine/buffer.hpp"
#include "mpi/communicator.hpp"

namespace tessera::dist::sort {

/// A column of elements of any fixed size: this rank's part of a map, as bytes.
struct ColumnView {
  const std::byte* data = nullptr;
  index_t element_bytes = 0;
};

/// Requests that a rank makes at once; more are made in rounds, whose answers come and go through a
/// cache.
[[nodiscard]] constexpr index_t requests_at_once(index_t element_bytes) {
  constexpr index_t answers = index_t{32} << 20, least = index_t{1} << 16, most = index_t{1} << 20;
  const index_t fit = answers / (element_bytes > 1 ? element_bytes : 1);
  return fit < least ? least : fit > most ? most : fit;
}

/// What gathering takes on a rank that has `share` elements and wants as many: requests and their
/// places, what others ask for, and the answers.
[[nodiscard]] index_t gather_bytes(index_t ranks, index_t share, index_t element_bytes);

/// Whether a column that one rank has is best permuted where it lies (kernels/sort/permute.hpp):
/// from a few words an element on, a copy in order costs more than the way along the cycles.
[[nodiscard]] constexpr bool permuted_in_place(int ranks, index_t element_bytes) {
  return ranks == 1 && element_bytes >= 32;
}

/// Elements of one column after the other, by the same indices: their owners are asked, in rounds
/// of requests_at_once. Where there is one round its requests serve for the next column, too.
class Gather {
 public:
  /// indices lie in [0, map.extent()), may repeat, are as many as this rank likes, and stay.
  /// Collective.
  Gather(const mpi::Communicator& comm, const layout::BlockMap& map,
         std::span<const std::uint64_t> indices, int threads);
  /// to[j] = element indices[j] of the whole; `column` is this rank's part. Collective.
  void operator()(ColumnView column, std::byte* to);

 private:
  /// Those of some of the indices, by who holds the elements, whose numbers are within that rank's
  /// part; this rank's own elements are the last.
  struct Requests {
    std::vector<index_t> count_to, count_from;       // none of this rank's own
    machine::Buffer<std::uint64_t> indices, wanted;  // of others; by others
    machine::Buffer<std::uint32_t> position;  // of each of indices among the requests as they came
    index_t count = 0, from_others = 0, by_others = 0;
  };
  void make_requests(std::span<const std::uint64_t> indices);
  void ask(ColumnView column, std::byte* to);

  mpi::Communicator comm_;
  layout::BlockMap map_;
  std::span<const std::uint64_t> indices_;
  int threads_;
  index_t most_;  // indices of a rank
  bool made_ = false;
  Requests requests_;
  machine::Buffer<std::byte> answers_, arrived_;
};

/// The same once.
template <class T>
void gather(const mpi::Communicator& comm, const layout::BlockMap& map, const T* column,
            std::span<const std::uint64_t> indices, T* to, int threads) {
  Gather(comm, map, indices, threads)(
      {reinterpret_cast<const std::byte*>(column), static_cast<index_t>(sizeof(T))},
      reinterpret_cast<std::byte*>(to));
}

}  // namespace tessera::dist::sort
