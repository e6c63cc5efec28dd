#include "dist/matmul/rounding.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <mutex>

#include "machine/buffer.hpp"

namespace tessera::inline v1::dist::matmul {
namespace {

/// Returns the largest finite magnitude of every row of the stored matrix, or of every column.
template <class T>
std::vector<double> largest_of(const mpi::Communicator& comm, const MatrixStrips<T>& matrix,
                               bool by_row, index_t count) {
  std::vector<double> largest(static_cast<std::size_t>(count));
  std::mutex alone;
  matrix.each([&](const layout::Box& box, MatrixView<const T> part) {
    const std::lock_guard lock(alone);
    for (index_t i = 0; i < part.rows; ++i) {
      for (index_t j = 0; j < part.cols; ++j) {
        double& here =
            largest[static_cast<std::size_t>(by_row ? box.rows.begin + i : box.cols.begin + j)];
        const double x = std::abs(static_cast<double>(part(i, j)));
        if (std::isfinite(x)) here = std::max(here, x);
      }
    }
    mpi::heartbeat();
  });
  comm.max(largest);
  return largest;
}

using Ties = tessera::matmul::RoundingError::Ties;

/// Returns x rounded to that many of its 24 bits; the least numbers of f32 have fewer.
float rounded(float x, int bits, Ties ties) {
  if (!std::isfinite(x)) return x;
  const auto from = std::bit_cast<std::uint32_t>(x);
  const int dropped = 24 - bits;
  const std::uint32_t half = std::uint32_t{1} << (dropped - 1);
  const std::uint32_t odd = from >> dropped & 1;
  const std::uint32_t up = ties == Ties::away ? half : half - 1 + odd;
  return std::bit_cast<float>((from + up) & ~(2 * half - 1));
}

}  // namespace

template <class T>
void RoundedStrips<T>::each(const typename MatrixStrips<T>::Body& body) const {
  strips_.each([&](const layout::Box& box, MatrixView<const T> part) {
    if constexpr (std::is_same_v<T, float>) {
      constexpr index_t elements = index_t{1} << 18;  // at a time
      const index_t strip = std::max<index_t>(1, elements / std::max<index_t>(1, part.cols));
      machine::Buffer<T> copy(std::min(strip, part.rows) * part.cols);
      for (index_t i = 0; i < part.rows; i += strip) {
        const index_t count = std::min(strip, part.rows - i);
        const auto to = matrix_view(copy.data(), count, part.cols);
        for (index_t row = 0; row < count; ++row) {
          for (index_t j = 0; j < part.cols; ++j)
            to(row, j) = rounded(part(i + row, j), rounding_.bits, rounding_.ties);
        }
        body({{box.rows.begin + i, box.rows.begin + i + count}, box.cols}, to);
      }
    } else {
      body(box, part);
    }
  });
}

template class RoundedStrips<float>;
template class RoundedStrips<double>;
template class RoundedStrips<Complex<float>>;
template class RoundedStrips<Complex<double>>;

template <class T>
std::vector<double> rounding_bounds(const mpi::Communicator& comm, const PassingProduct<T>& product,
                                    const tessera::matmul::RoundingError& rounding,
                                    const std::vector<double>& x,
                                    const std::vector<double>& bound) {
  std::vector<double> allowed(bound.size());
  if constexpr (!is_complex<T>) {
    const auto& r = rounding;
    if (product.alpha == T{0} || product.k == 0) return allowed;
    const double sums = r.of_sums + r.of_each * static_cast<double>(product.k);
    for (std::size_t i = 0; i < bound.size(); ++i) allowed[i] = sums * bound[i];
    if (r.of_largest == 0 && r.absolute == 0) return allowed;
    const std::vector<double> rows =
                                  largest_of(comm, *product.a, product.op_a == Op::none, product.m),
                              cols = largest_of(comm, *product.b, turns(product.op_b), product.n);
    const auto off = [&](double largest) { return r.of_largest * largest + r.absolute; };
    double of_cols = 0, off_cols = 0;
    for (std::size_t j = 0; j < cols.size(); ++j) {
      of_cols += std::abs(x[j]) * cols[j];
      off_cols += std::abs(x[j]) * off(cols[j]);
    }
    const double scale =
        std::abs(static_cast<double>(product.alpha)) * static_cast<double>(product.k) * (1 + sums);
    for (std::size_t i = 0; i < rows.size(); ++i)
      allowed[i] += scale * (off(rows[i]) * (of_cols + off_cols) + rows[i] * off_cols);
  }
  return allowed;
}

template std::vector<double> rounding_bounds(const mpi::Communicator&, const PassingProduct<float>&,
                                             const tessera::matmul::RoundingError&,
                                             const std::vector<double>&,
                                             const std::vector<double>&);
template std::vector<double> rounding_bounds(const mpi::Communicator&,
                                             const PassingProduct<double>&,
                                             const tessera::matmul::RoundingError&,
                                             const std::vector<double>&,
                                             const std::vector<double>&);
template std::vector<double> rounding_bounds(const mpi::Communicator&,
                                             const PassingProduct<Complex<float>>&,
                                             const tessera::matmul::RoundingError&,
                                             const std::vector<double>&,
                                             const std::vector<double>&);
template std::vector<double> rounding_bounds(const mpi::Communicator&,
                                             const PassingProduct<Complex<double>>&,
                                             const tessera::matmul::RoundingError&,
                                             const std::vector<double>&,
                                             const std::vector<double>&);

}  // namespace tessera::inline v1::dist::matmul
