#include "dist/transpose/checksum.hpp"

namespace tessera::dist::transpose {

std::uint64_t matrix_checksum(const mpi::Communicator& comm, const DistributedRecords& matrix,
                              tessera::transpose::Indices indices, std::uint64_t seed, int threads) {
  const layout::Box& box = matrix.box();
  return comm.sum(
      tessera::transpose::checksum(matrix.view(), {box.rows.begin, box.cols.begin, indices}, seed, threads));
}

}  // namespace tessera::dist::transpose
