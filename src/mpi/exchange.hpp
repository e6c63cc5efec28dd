#pragma once
// All-to-all exchange with variable sizes (alltoallv).

#include <cstddef>
#include <span>
#include <vector>

#include "mpi/communicator.hpp"

namespace tessera::inline v1::mpi {

/// The bytes that a rank sends, and receives, per round before it waits: bounds the MPI library's
/// buffers for any sizes.
inline constexpr index_t round_bytes = index_t{64} << 20;

/// Returns the number of messages that a rank sends for these sizes, over all rounds.
[[nodiscard]] index_t exchange_messages(std::span<const index_t> bytes_to, int rank);

/// Sends bytes_to[r] bytes to every rank r and receives bytes_from[r] bytes from it; from and to
/// are packed by rank. bytes_from[r] must equal rank r's bytes_to[this rank]. Throws Error(usage)
/// on inconsistent sizes. Collective.
void exchange(const Communicator& comm, std::span<const std::byte> from,
              std::span<const index_t> bytes_to, std::span<std::byte> to,
              std::span<const index_t> bytes_from);

/// As above; the bytes for rank r begin at from_offsets[r].
void exchange(const Communicator& comm, std::span<const std::byte> from,
              std::span<const index_t> from_offsets, std::span<const index_t> bytes_to,
              std::span<std::byte> to, std::span<const index_t> bytes_from);

/// As above, with counts in elements.
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

}  // namespace tessera::inline v1::mpi
