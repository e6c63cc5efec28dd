// A 3-D Fourier transform with axes permuted between the ranks: mpirun -n 4 ./fft
//
// Each rank transforms the last two axes of its slab, the first axis is exchanged with the last
// one, and it transforms that one. The array is a sum of two plane waves, whose transform has two
// elements other than 0. Prints the largest error.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <tessera/mpi.hpp>
#include <tessera/transpose.hpp>
#include <vector>

namespace {

using namespace tessera;
using Complex = std::complex<double>;

constexpr index_t nx = 12, ny = 16, nz = 20;
const double turn = 2 * std::acos(-1.0);

/// Transforms n elements that are `stride` apart, by the definition: a program has a library for
/// this, such as FFTW.
void transform(Complex* data, index_t n, index_t stride) {
  std::vector<Complex> line(static_cast<std::size_t>(n));
  for (index_t k = 0; k < n; ++k) {
    Complex sum = 0;
    for (index_t i = 0; i < n; ++i)
      sum += data[i * stride] *
             std::polar(1.0, -turn * static_cast<double>(i * k % n) / static_cast<double>(n));
    line[static_cast<std::size_t>(k)] = sum;
  }
  for (index_t k = 0; k < n; ++k) data[k * stride] = line[static_cast<std::size_t>(k)];
}

Complex wave(index_t x, index_t y, index_t z) {
  const auto angle = [](index_t i, index_t n) {
    return turn * static_cast<double>(i) / static_cast<double>(n);
  };
  return std::polar(1.0, angle(2 * x, nx) + angle(5 * y, ny) + angle(3 * z, nz)) +
         std::polar(2.0, angle(x, nx) + angle(7 * z, nz));
}
/// Returns the transform of the waves.
Complex peaks(index_t x, index_t y, index_t z) {
  if (x == 2 && y == 5 && z == 3) return nx * ny * nz;
  return x == 1 && y == 0 && z == 7 ? 2.0 * nx * ny * nz : 0.0;
}

ExitCode body(const mpi::Communicator& comm) {
  using layout::in_shares;
  const index_t p = comm.size();
  const layout::ArrayGrid slabs_of_x{{in_shares({nx, p}), in_shares({ny, 1}), in_shares({nz, 1})}},
      slabs_of_z{{in_shares({nz, p}), in_shares({ny, 1}), in_shares({nx, 1})}};
  const std::vector<int> axes{2, 1, 0};  // axis k of b is axis axes[k] of a
  dist::transpose::PermutePlan exchange(comm, {slabs_of_x, axes, slabs_of_z, sizeof(Complex)});
  const layout::Range x = layout::BlockMap(nx, p).range(comm.rank()),
                      z = layout::BlockMap(nz, p).range(comm.rank());
  std::vector<Complex> a(static_cast<std::size_t>(x.size() * ny * nz)),
      b(static_cast<std::size_t>(z.size() * ny * nx));
  for (index_t i = 0; i < x.size(); ++i)
    for (index_t j = 0; j < ny; ++j)
      for (index_t k = 0; k < nz; ++k)
        a[static_cast<std::size_t>((i * ny + j) * nz + k)] = wave(x.begin + i, j, k);

  for (index_t i = 0; i < x.size(); ++i) {
    Complex* const plane = a.data() + i * ny * nz;
    for (index_t j = 0; j < ny; ++j) transform(plane + j * nz, nz, 1);
    for (index_t k = 0; k < nz; ++k) transform(plane + k, ny, nz);
  }
  exchange.execute(a.data(), b.data());
  for (index_t line = 0; line < z.size() * ny; ++line) transform(b.data() + line * nx, nx, 1);

  double error = 0;
  for (index_t k = 0; k < z.size(); ++k)
    for (index_t j = 0; j < ny; ++j)
      for (index_t i = 0; i < nx; ++i)
        error = std::max(error, std::abs(b[static_cast<std::size_t>((k * ny + j) * nx + i)] -
                                         peaks(i, j, z.begin + k)));
  error = comm.max(error);
  if (comm.is_root()) std::printf("largest error %s 1e-9\n", error < 1e-9 ? "below" : "above");
  return error < 1e-9 ? ExitCode::ok : ExitCode::verification;
}

}  // namespace

int main(int argc, char** argv) { return mpi::run_main(&argc, &argv, body); }
