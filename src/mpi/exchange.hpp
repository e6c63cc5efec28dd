#pragma once
// Everyone to everyone, each pair its own amount.

#include <cstddef>
#include <span>
#include <vector>

#include "mpi/communicator.hpp"

namespace tessera::mpi {

/// A rank sends at most so many bytes, and receives at most so many from any rank, before it waits
/// for them: what lies in the library's own buffers stays bounded whatever the amounts.
inline constexpr index_t round_bytes = index_t{64} << 20;

/// Messages that a rank sends for these amounts: what the rounds make of them.
[[nodiscard]] index_t exchange_messages(std::span<const index_t> bytes_to, int rank);

/// from = the bytes for rank 0, then those for rank 1, ...: bytes_to[r] each; to = what came from
/// rank 0, from rank 1, ...: bytes_from[r] each. bytes_from[r] here is bytes_to[this rank] there.
/// Collective.
void exchange(const Communicator& comm, std::span<const std::byte> from,
              std::span<const index_t> bytes_to, std::span<std::byte> to,
              std::span<const index_t> bytes_from);

/// The same where the bytes for rank r begin at from_offsets[r].
void exchange(const Communicator& comm, std::span<const std::byte> from,
              std::span<const index_t> from_offsets, std::span<const index_t> bytes_to,
              std::span<std::byte> to, std::span<const index_t> bytes_from);

/// The same for whole elements.
template <class T>
void exchange_items(const Communicator& comm, std::span<const T> from,
                    std::vector<index_t> count_to, std::span<T> to,
                    std::vector<index_t> count_from) {
  for (index_t& count : count_to) count *= static_cast<index_t>(sizeof(T));
  for (index_t& count : count_from) count *= static_cast<index_t>(sizeof(T));
  exchange(comm, std::as_bytes(from), count_to, std::as_writable_bytes(to), count_from);
}
template <class T>
void exchange_items(const Communicator& comm, std::span<const T> from,
                    std::vector<index_t> from_offsets, std::vector<index_t> count_to,
                    std::span<T> to, std::vector<index_t> count_from) {
  for (auto* counts : {&from_offsets, &count_to, &count_from}) {
    for (index_t& count : *counts) count *= static_cast<index_t>(sizeof(T));
  }
  exchange(comm, std::as_bytes(from), from_offsets, count_to, std::as_writable_bytes(to),
           count_from);
}

}  // namespace tessera::mpi
