#include "dist/matrix.hpp"

#include "base/error.hpp"
#include "base/random.hpp"
#include "layout/home.hpp"

namespace tessera::dist {

namespace {

layout::MatrixLayout home(layout::MatrixLayout layout, const mpi::Communicator& comm) {
  layout::require_home(layout, comm.size(), "layout");
  return layout;
}

}  // namespace

template <class T>
DistributedMatrix<T>::DistributedMatrix(const mpi::Communicator& comm, layout::MatrixLayout layout)
    : layout_(home(std::move(layout), comm)),
      box_(layout_.of(comm.rank())),
      local_(box_.area()),
      data_(local_.data()) {}

template <class T>
DistributedMatrix<T>::DistributedMatrix(const mpi::Communicator& comm, layout::MatrixLayout layout,
                                        const mpi::Communicator& node)
    : layout_(home(std::move(layout), comm)), box_(layout_.of(comm.rank())) {
  require(node.size() == comm.size(), ExitCode::usage,
          "node: a shared matrix lies on the ranks of one node, which are all of comm");
  require(layout_ == layout::row_blocks(rows(), cols(), comm.size()), ExitCode::usage,
          "layout: a shared matrix lies in row_blocks(rows, cols, ranks)");
  const index_t bytes = checked_mul(rows() * cols(), static_cast<index_t>(sizeof(T)), "a shared matrix");
  window_ = mpi::SharedMemory(node, node.is_root() ? bytes : 0);
  whole_ = reinterpret_cast<T*>(window_.of(0));
  data_ = whole_ + box_.rows.begin * cols();
}

template <class T>
void fill_random(MatrixView<T> view, const layout::Box& box, index_t cols, std::uint64_t seed,
                 std::uint64_t stream) {
  for (index_t i = 0; i < view.rows; ++i) {
    const index_t first = (box.rows.begin + i) * cols + box.cols.begin;
    for (index_t j = 0; j < view.cols; ++j) view(i, j) = random_symmetric<T>(seed, stream, first + j);
  }
}

template <class T>
void fill_random(DistributedMatrix<T>& matrix, std::uint64_t seed, std::uint64_t stream) {
  fill_random(matrix.view(), matrix.box(), matrix.cols(), seed, stream);
}

#define TESSERA_INSTANTIATE(T)                                                                            \
  template class DistributedMatrix<T>;                                                                    \
  template void fill_random<T>(MatrixView<T>, const layout::Box&, index_t, std::uint64_t, std::uint64_t); \
  template void fill_random<T>(DistributedMatrix<T>&, std::uint64_t, std::uint64_t)

TESSERA_INSTANTIATE(float);
TESSERA_INSTANTIATE(double);
TESSERA_INSTANTIATE(Complex<float>);
TESSERA_INSTANTIATE(Complex<double>);

}  // namespace tessera::dist
