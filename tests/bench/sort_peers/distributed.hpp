#pragma once
// Distributed sorts of others, on MPI_COMM_WORLD: the keys of all ranks, together in order.

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::bench {

struct DistributedPeer {
  std::string name;
  void (*sort)(std::vector<std::uint64_t>& keys);
  bool (*serves)(int ranks);
};
[[nodiscard]] std::vector<DistributedPeer> distributed_peers();

}  // namespace tessera::bench
