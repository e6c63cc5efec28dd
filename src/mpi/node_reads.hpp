#pragma once
// Copies from the memory of other ranks of a node by all threads of a rank (Linux's
// process_vm_readv), because MPI libraries copy a message by one thread.

#include <span>

#include "mpi/communicator.hpp"

namespace tessera::inline v1::mpi {

/// Bytes in the memory of a process of this node.
struct NodeBytes {
  index_t process = 0;  ///< its number
  index_t address = 0;
};
/// Returns the place of bytes of this process.
[[nodiscard]] NodeBytes here(const std::byte* data);

struct NodeRead {
  NodeBytes from;
  std::span<std::byte> to;
  bool failed = false;  ///< the system refused some of it
};
/// Copies all of them with the default number of threads; a block of this process is a plain copy.
/// Sets `failed` of each.
void read_node(std::span<NodeRead> reads);

/// Tries whether the ranks of a node may read each other's memory and have several threads each;
/// one answer for all of them. A container, another user, or the system's settings for tracers may
/// refuse. Collective over node.
[[nodiscard]] bool node_reads_work(const Communicator& node);

}  // namespace tessera::inline v1::mpi
