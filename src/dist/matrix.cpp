// Blocks of a matrix in private or shared memory, and its random values.

#include "dist/matrix.hpp"

#include "base/error.hpp"
#include "base/random.hpp"
#include "layout/home.hpp"

namespace tessera::inline v1::dist {

namespace {

layout::MatrixLayout home(layout::MatrixLayout layout, const mpi::Communicator& comm) {
  layout::require_home(layout, comm.size(), "layout");
  return layout;
}

template <class T>
index_t bytes_of(const layout::MatrixLayout& layout) {
  return checked_mul(layout.rows * layout.cols, static_cast<index_t>(sizeof(T)),
                     "size of a shared matrix");
}

std::vector<index_t> all_on_root(int ranks, index_t bytes) {
  std::vector<index_t> sizes(static_cast<std::size_t>(ranks), 0);
  sizes.front() = bytes;
  return sizes;
}

}  // namespace

SharedRoom::SharedRoom(const mpi::Communicator& node, index_t bytes)
    : memory_(node, all_on_root(node.size(), bytes)), ranks_(node.size()), bytes_(bytes) {}

index_t SharedRoom::bytes_for(std::initializer_list<index_t> matrices) {
  index_t all = 0;
  for (const index_t bytes : matrices) all += round_up(bytes, mpi::SharedMemory::page);
  return all;
}

std::byte* SharedRoom::take(index_t bytes) {
  const index_t begin = taken_;
  taken_ += round_up(bytes, mpi::SharedMemory::page);
  require(taken_ <= bytes_, ExitCode::internal,
          "shared matrix exceeds the shared memory allocated for it");
  return memory_.of(0) + begin;
}

template <class T>
DistributedMatrix<T>::DistributedMatrix(const mpi::Communicator& comm, layout::MatrixLayout layout)
    : layout_(home(std::move(layout), comm)),
      box_(layout_.of(comm.rank())),
      local_(box_.area()),
      data_(local_.data()) {}

template <class T>
DistributedMatrix<T>::DistributedMatrix(const mpi::Communicator& comm, layout::MatrixLayout layout,
                                        const mpi::Communicator& node)
    : DistributedMatrix(
          comm, layout,
          std::make_shared<SharedRoom>(node, SharedRoom::bytes_for({bytes_of<T>(layout)}))) {}

template <class T>
DistributedMatrix<T>::DistributedMatrix(const mpi::Communicator& comm, layout::MatrixLayout layout,
                                        std::shared_ptr<SharedRoom> room)
    : layout_(home(std::move(layout), comm)),
      box_(layout_.of(comm.rank())),
      room_(std::move(room)) {
  require_argument(
      room_->ranks() == comm.size(), "node",
      "does not have the ranks of comm: a shared matrix needs all its ranks on one node");
  require_argument(layout_ == layout::row_blocks(rows(), cols(), comm.size()), "layout",
                   "of a shared matrix must be row_blocks(rows, cols, ranks)");
  whole_ = reinterpret_cast<T*>(room_->take(bytes_of<T>(layout_)));
  data_ = whole_ + box_.rows.begin * cols();
}

template <class T>
DistributedMatrix<T>::DistributedMatrix(const mpi::Communicator& comm, layout::MatrixLayout layout,
                                        T* data)
    : layout_(home(std::move(layout), comm)), box_(layout_.of(comm.rank())), data_(data) {}

template <class T>
void fill_random(MatrixView<T> view, const layout::Box& box, index_t cols, std::uint64_t seed,
                 std::uint64_t stream) {
  for (index_t i = 0; i < view.rows; ++i) {
    const index_t first = (box.rows.begin + i) * cols + box.cols.begin;
    for (index_t j = 0; j < view.cols; ++j)
      view(i, j) = static_cast<T>(random_symmetric<Arithmetic<T>>(seed, stream, first + j));
  }
}

template <class T>
void fill_random(DistributedMatrix<T>& matrix, std::uint64_t seed, std::uint64_t stream) {
  fill_random(matrix.view(), matrix.box(), matrix.cols(), seed, stream);
}

#define TESSERA_INSTANTIATE(T)                                                            \
  template class DistributedMatrix<T>;                                                    \
  template void fill_random<T>(MatrixView<T>, const layout::Box&, index_t, std::uint64_t, \
                               std::uint64_t);                                            \
  template void fill_random<T>(DistributedMatrix<T>&, std::uint64_t, std::uint64_t)

TESSERA_INSTANTIATE(float);
TESSERA_INSTANTIATE(double);
TESSERA_INSTANTIATE(Complex<float>);
TESSERA_INSTANTIATE(Complex<double>);
TESSERA_INSTANTIATE(Half);
TESSERA_INSTANTIATE(BFloat16);
#undef TESSERA_INSTANTIATE

}  // namespace tessera::inline v1::dist
