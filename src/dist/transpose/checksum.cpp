// Checksums of distributed matrices, and the exact check of an update.

#include "dist/transpose/checksum.hpp"

#include <cstring>

#include "dist/transpose/blocks.hpp"
#include "mpi/agreement.hpp"

namespace tessera::inline v1::dist::transpose {
namespace {

using tessera::transpose::Indices;

template <class T>
index_t differences(const ConstRecords& got, const ConstRecords& want) {
  index_t count = 0;
  for (index_t i = 0; i < got.rows; ++i) {
    const T* const x = reinterpret_cast<const T*>(got.at(i, 0));
    const T* const y = reinterpret_cast<const T*>(want.at(i, 0));
    const index_t parts = got.cols * got.bytes / index_t{sizeof(T)};
    for (index_t j = 0; j < parts; ++j) {
      const bool both_nan = x[j] != x[j] && y[j] != y[j];
      count += both_nan || std::memcmp(x + j, y + j, sizeof(T)) == 0 ? 0 : 1;
    }
  }
  return count;
}

}  // namespace

std::uint64_t matrix_checksum(const mpi::Communicator& comm, const DistributedRecords& matrix,
                              tessera::transpose::Indices indices, std::uint64_t seed,
                              int threads) {
  const layout::Box& box = matrix.box();
  return comm.sum(tessera::transpose::checksum(
      matrix.view(), {box.rows.begin, box.cols.begin, indices}, seed, threads));
}

bool is_update(const mpi::Communicator& comm, const Task& task, const DistributedRecords& old_b,
               std::uint64_t seed, int threads) {
  DistributedRecords moved, want;
  const Method method{.algorithm = Algorithm::alltoall, .tuning = {.threads = threads}};
  mpi::together(comm, "verify", [&] {
    moved = DistributedRecords(comm, task.b.layout(), task.b.bytes());
    want = DistributedRecords(comm, task.b.layout(), task.b.bytes());
  });
  mpi::Phases phases;
  transpose_matrix(comm, {task.a, task.op, moved}, method, phases);
  const auto indices = task.op == Op::transpose ? Indices::swapped : Indices::as_stored;
  const bool arrived = matrix_checksum(comm, moved, indices, seed, threads) ==
                       matrix_checksum(comm, task.a, Indices::as_stored, seed, threads);
  if (task.scale.beta != 0) move_block(method, Op::none, old_b.view(), want.view());
  update_block(method, task.scale, Op::none, moved.view(), want.view());
  const ConstRecords got = task.b.view();
  const index_t wrong = dispatch_number(task.scale.number, [&]<class T>(Type<T>) {
    return differences<tessera::transpose::Real<T>>(got, want.view());
  });
  return comm.sum(wrong) == 0 && arrived;
}

}  // namespace tessera::inline v1::dist::transpose
