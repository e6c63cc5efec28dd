#pragma once
// Distributed sorts of other libraries on MPI_COMM_WORLD: sort the keys of all ranks globally.

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
