// Principal components of the rows of a dataset: mpirun -n 4 ./pca IN.h5:/X OUT.h5:/scores
//
// Reads the rows in even shares, subtracts the mean, decomposes the covariance (a product of the
// transposed matrix, on rank 0), writes the scores, the largest component first, and checks their
// covariance. Without arguments it makes rows with known variances.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <span>
#include <string>
#include <tessera/tessera.hpp>
#include <vector>

namespace {

using namespace tessera;
using Matrix = dist::DistributedMatrix<double>;

void write(const mpi::Communicator& comm, const io::DatasetName& name, const Matrix& x) {
  const std::span<const double> mine(x.view().data, static_cast<std::size_t>(x.box().area()));
  io::OutputFile file(
      comm, name.file,
      {{name.path, {x.rows(), x.cols()}, io::number_type(io::number_type("f64")), {}}},
      io::OutputFile::Existing::replace);
  mpi::together(comm, "write", [&] {
    file.write(0, x.box().rows.begin * x.cols(), std::as_bytes(mine));
    file.check_written(io::OutputFile::ReadBack::automatic);
  });
  file.publish([](hid_t) {});
}

/// Waves of amplitudes 4, 2 and 1 in orthogonal directions: variances 8, 2, 1/2, times n / (n - 1).
Matrix example(const mpi::Communicator& comm) {
  constexpr index_t n = 300;
  const double turn = 2 * std::acos(-1.0) / n, s = std::sqrt(0.5);
  Matrix x(comm, layout::row_blocks(n, 3, comm.size()));
  for (index_t i = 0; i < x.view().rows; ++i) {
    const double angle = turn * static_cast<double>(x.box().rows.begin + i);
    const double u = 4 * std::sin(angle), v = 2 * std::sin(2 * angle);
    x.view()(i, 0) = s * (u + v) + 5;
    x.view()(i, 1) = s * (u - v);
    x.view()(i, 2) = std::cos(3 * angle);
  }
  return x;
}

/// Sets the columns of v to the vectors of a symmetric matrix without negative values, by
/// orthogonal iteration; returns the values, the largest first.
std::vector<double> decompose(const std::vector<double>& a, double* v, std::size_t d) {
  std::vector<double> values(d), w(d);
  for (std::size_t k = 0; k < d * d; ++k) v[k] = k % (d + 1) == 0 ? 1 : 0;
  for (std::size_t step = 0; step < 1000 * d; ++step) {
    const std::size_t j =
        step % d;  // column j of v becomes the next one, orthogonal to earlier ones
    for (std::size_t i = 0; i < d; ++i) {
      w[i] = 0;
      for (std::size_t k = 0; k < d; ++k) w[i] += a[i * d + k] * v[k * d + j];
    }
    for (std::size_t k = 0; k < j; ++k) {
      double part = 0;
      for (std::size_t i = 0; i < d; ++i) part += w[i] * v[i * d + k];
      for (std::size_t i = 0; i < d; ++i) w[i] -= part * v[i * d + k];
    }
    values[j] = std::sqrt(std::inner_product(w.begin(), w.end(), w.begin(), 0.0));
    for (std::size_t i = 0; i < d; ++i) v[i * d + j] = values[j] > 0 ? w[i] / values[j] : 0;
  }
  return values;
}

ExitCode body(const mpi::Communicator& comm, const std::vector<std::string>& names) {
  const io::DatasetName in = io::parse_dataset_name(names[0], "IN"),
                        out = io::parse_dataset_name(names[1], "OUT");
  const bool is_example = names.size() > 2;
  if (is_example) write(comm, in, example(comm));
  const auto about = io::inspect(io::open_dataset(io::open_file(in.file), in), in);
  const index_t n = about.shape.at(0), d = about.shape.at(1);
  Matrix x(comm, layout::row_blocks(n, d, comm.size())), scores(comm, x.layout());
  std::vector<index_t> offsets(static_cast<std::size_t>(comm.size()), d);
  offsets.insert(offsets.begin(), 0);
  Matrix square(comm, layout::row_blocks(d, d, offsets));  // on rank 0
  const auto rows = x.view();
  io::read_box<double>(in, x.box(), rows);
  std::vector<double> mean(static_cast<std::size_t>(d));
  for (index_t k = 0; k < rows.rows * d; ++k)
    mean[static_cast<std::size_t>(k % d)] += rows.data[k] / static_cast<double>(n);
  comm.sum(mean);
  for (index_t k = 0; k < rows.rows * d; ++k) rows.data[k] -= mean[static_cast<std::size_t>(k % d)];
  using dist::matmul::Op, dist::matmul::Product;
  const auto covariance = [&](const Matrix& y) {
    Product<double> product{.a = y, .op_a = Op::transpose, .b = y, .c = square};
    product.alpha = 1 / static_cast<double>(n - 1);
    dist::matmul::multiply(comm, product);
    return std::vector<double>(square.view().data, square.view().data + square.box().area());
  };
  std::vector<double> values, of_scores = covariance(x);
  if (comm.is_root()) values = decompose(of_scores, square.view().data, mean.size());
  dist::matmul::multiply(comm, x, square, scores);
  write(comm, out, scores);
  of_scores = covariance(scores);
  double error = 0;
  for (std::size_t j = 0; j < values.size(); ++j) {
    std::printf("variance %.6f\n", values[j]);
    const double known = is_example ? 8 * std::pow(0.25, j) * 300 / 299 : values[j];
    for (std::size_t i = 0; i < values.size(); ++i)
      error = std::max(error, std::abs(of_scores[i * values.size() + j] - (i == j ? known : 0)));
  }
  error = values.empty() ? 0 : error / values[0];  // rank 0 has them
  return comm.max(error) < 1e-12 ? ExitCode::ok : ExitCode::verification;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> names(argv + 1, argv + argc);
  if (names.size() < 2) names = {"pca_in.h5:/X", "pca_out.h5:/scores", "example"};
  return mpi::run_main(&argc, &argv, [&](const auto& comm) { return body(comm, names); });
}
