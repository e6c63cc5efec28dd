#include "dist/matrix.hpp"

#include "base/random.hpp"

namespace tessera::dist {

template <class T>
void fill_random(DistributedMatrix<T>& matrix, std::uint64_t seed, std::uint64_t stream) {
  const auto view = matrix.view();
  const layout::Box& box = matrix.box();
  for (index_t i = 0; i < view.rows; ++i) {
    const index_t first = (box.rows.begin + i) * matrix.cols() + box.cols.begin;
    for (index_t j = 0; j < view.cols; ++j) view(i, j) = random_symmetric<T>(seed, stream, first + j);
  }
}

template void fill_random<float>(DistributedMatrix<float>&, std::uint64_t, std::uint64_t);
template void fill_random<double>(DistributedMatrix<double>&, std::uint64_t, std::uint64_t);
template void fill_random<Complex<float>>(DistributedMatrix<Complex<float>>&, std::uint64_t, std::uint64_t);
template void fill_random<Complex<double>>(DistributedMatrix<Complex<double>>&, std::uint64_t, std::uint64_t);

}  // namespace tessera::dist
