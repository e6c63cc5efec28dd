#include "sort_peers/distributed.hpp"

#include <mpi.h>

// Headers that psort requires but does not include.
#include <climits>
#include <cmath>
#include <functional>
#include <stdexcept>

#include <psort/psort.h>
#include <usort/parUtils.h>

namespace tessera::bench {
namespace {

/// Keeps the sizes of the parts. Precondition: no part is empty.
void psort(std::vector<std::uint64_t>& keys) {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<long> sizes(static_cast<std::size_t>(ranks));
  const long mine = static_cast<long>(keys.size());
  MPI_Allgather(&mine, 1, MPI_LONG, sizes.data(), 1, MPI_LONG, MPI_COMM_WORLD);
  vpsort::STLSort sort;
  vpsort::MedianSplit split;
  vpsort::OOPTreeMerge merge;
  vpsort::parallel_sort(keys.data(), keys.data() + keys.size(), std::less<std::uint64_t>(),
                        sizes.data(), sort, split, merge, MPI_COMM_WORLD);
}

void hyksort(std::vector<std::uint64_t>& keys) { par::HyperQuickSort_kway(keys, MPI_COMM_WORLD); }

}  // namespace

std::vector<DistributedPeer> distributed_peers() {
  return {{"psort", psort, [](int) { return true; }},
          {"HykSort", hyksort, [](int ranks) { return (ranks & (ranks - 1)) == 0; }}};
}

}  // namespace tessera::bench
