#pragma once
// Gather of elements by global index: owners are asked in rounds, two exchanges a round.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "layout/block_map.hpp"
#include "machine/buffer.hpp"
#include "mpi/communicator.hpp"

namespace tessera::inline v1::dist::sort {

/// A column of elements of any fixed size: this rank's part of a map, as bytes.
struct ColumnView {
  const std::byte* data = nullptr;
  index_t element_bytes = 0;
};

/// Returns the number of requests of a rank in one round; the answers of a round fit a cache.
[[nodiscard]] constexpr index_t requests_at_once(index_t element_bytes) {
  constexpr index_t answers = index_t{32} << 20, least = index_t{1} << 16, most = index_t{1} << 20;
  const index_t fit = answers / (element_bytes > 1 ? element_bytes : 1);
  return fit < least ? least : fit > most ? most : fit;
}

/// Returns the number of requests of a rank in one round of gather(), which makes them once: a
/// sixteenth of all, so that their buffers are small against the column.
[[nodiscard]] constexpr index_t requests_once(index_t element_bytes, index_t requests) {
  constexpr index_t least = index_t{1} << 14, rounds = 16;
  const index_t most = requests_at_once(element_bytes), some = ceil_div(requests, rounds);
  return some < least ? least : some > most ? most : some;
}

/// Returns the elements that a rank sends, or receives, at once where no rank has more than
/// `requests`: those of evenly spread indices and 1/32 more.
[[nodiscard]] constexpr index_t answers_at_once(index_t ranks, index_t requests) {
  constexpr index_t least = 4096;
  const index_t even = requests - requests / ranks + requests / 32;
  return even < least ? least : even;
}

/// Returns the bytes of a gather, for any indices, on a rank that has `share` elements and requests
/// as many: requests and their positions, other ranks' requests, and the answers.
[[nodiscard]] index_t gather_bytes(index_t ranks, index_t share, index_t element_bytes);
/// As above, of gather().
[[nodiscard]] index_t gather_once_bytes(index_t ranks, index_t share, index_t element_bytes);

/// Returns whether to permute a column on one rank in place (kernels/sort/permute.hpp): from a few
/// words an element on, a copy in order costs more than following the cycles.
[[nodiscard]] constexpr bool permuted_in_place(int ranks, index_t element_bytes) {
  return ranks == 1 && element_bytes >= 32;
}

/// Gathers elements of consecutive columns by the same indices from their owners, in rounds of
/// requests_at_once. Uneven ones (a rank sends or receives more than answers_at_once) are exchanged
/// in parts. The requests of a single round and part are reused for the next column.
class Gather {
 public:
  enum class Use { columns, once };
  /// Precondition: indices are in [0, map.extent()) and outlive the object; they may repeat and
  /// differ in number between ranks. Use::once: in rounds of requests_once. Collective.
  Gather(const mpi::Communicator& comm, const layout::BlockMap& map,
         std::span<const std::uint64_t> indices, int threads, Use use = Use::columns);
  /// Sets to[j] to element indices[j] of the whole; `column` is this rank's part. `to` may be the
  /// indices' memory if the elements have their size and are gathered once. Collective.
  void operator()(ColumnView column, std::byte* to);

 private:
  /// Requests of some of the indices by owner, as indices within the owner's part; this rank's own
  /// elements are last.
  struct Requests {
    std::vector<index_t> count_to, count_from;  // none of this rank's own
    machine::Buffer<std::uint64_t> indices;
    machine::Buffer<std::uint32_t> position;  // of each index among the requests in order
    index_t count = 0, from_others = 0;
    index_t parts = 1;         // in which they are exchanged, the same on all ranks
    index_t most_at_once = 0;  // for which buffers have room from the first part on
  };
  /// An even share of every rank's requests to every other rank.
  struct Part {
    std::vector<index_t> begin_to, count_to, count_from;
    machine::Buffer<std::uint64_t> wanted;  // by other ranks
    index_t from_others = 0, by_others = 0;
  };
  /// most: requests of a rank
  void make_requests(std::span<const std::uint64_t> indices, index_t most);
  void send_part(index_t number);
  void ask_part(ColumnView column, std::byte* to);
  void take_own(ColumnView column, std::byte* to) const;

  mpi::Communicator comm_;
  layout::BlockMap map_;
  std::span<const std::uint64_t> indices_;
  int threads_;
  index_t most_;  // indices of a rank
  Use use_;
  bool made_ = false;
  Requests requests_;
  Part part_;
  machine::Buffer<std::byte> answers_, arrived_;
};

/// Gathers once; `to` may be the indices' memory if the elements have their size.
template <class T>
void gather(const mpi::Communicator& comm, const layout::BlockMap& map, const T* column,
            std::span<const std::uint64_t> indices, T* to, int threads) {
  Gather(comm, map, indices, threads, Gather::Use::once)(
      {reinterpret_cast<const std::byte*>(column), static_cast<index_t>(sizeof(T))},
      reinterpret_cast<std::byte*>(to));
}

}  // namespace tessera::inline v1::dist::sort
