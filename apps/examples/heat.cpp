// The heat equation on a periodic n x n field: mpirun -n 4 ./heat
//
// The program computes the steps, the library fills the ghost layers. A plane wave decays by the
// same factor in every step, against which it is checked.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <tessera/mpi.hpp>
#include <tessera/stencil.hpp>
#include <utility>
#include <vector>

namespace {

using namespace tessera;
using Grid = GridView<double>;

/// Returns the box of this rank in memory with one ghost layer.
Grid view_of(std::vector<double>& memory, Index3 size) {
  const index_t ld = size[2] + 2;
  memory.resize(static_cast<std::size_t>((size[1] + 2) * ld));
  return {memory.data() + ld + 1, size, {{0, ld, 1}}, 2};
}

ExitCode body(const mpi::Communicator& comm) {
  constexpr index_t n = 48, steps = 20;
  const dist::stencil::HaloShape shape{
      layout::choose_grid({{{1, n, n}}, comm.size(), {{0, 1, 1}}, {false, true, true}}),
      {{0, 1, 1}},
      stencil::all_sides({stencil::Boundary::periodic})};
  const Box3 box = shape.grid.of(comm.rank());
  std::vector<double> now_memory, next_memory;
  Grid now = view_of(now_memory, box.size()), next = view_of(next_memory, box.size());
  const double angle = 2 * std::acos(-1.0) / n;
  const auto wave = [&](index_t y, index_t x) {
    return std::sin(angle * static_cast<double>(box.low[1] + y + 2 * (box.low[2] + x)));
  };
  for (index_t y = 0; y < now.extent[1]; ++y)
    for (index_t x = 0; x < now.extent[2]; ++x) now(y, x) = wave(y, x);

  dist::stencil::HaloPlan<double> halo(comm, shape);
  for (index_t step = 0; step < steps; ++step) {
    halo.execute(now);  // or start(now), work on inner points, wait()
    for (index_t y = 0; y < now.extent[1]; ++y)
      for (index_t x = 0; x < now.extent[2]; ++x)
        next(y, x) = now(y, x) + 0.2 * (now(y - 1, x) + now(y + 1, x) + now(y, x - 1) +
                                        now(y, x + 1) - 4 * now(y, x));
    std::swap(now, next);
  }

  const double factor = 1 + 0.4 * (std::cos(angle) + std::cos(2 * angle) - 2);
  double error = 0;
  for (index_t y = 0; y < now.extent[1]; ++y)
    for (index_t x = 0; x < now.extent[2]; ++x)
      error = std::max(error, std::abs(now(y, x) - std::pow(factor, steps) * wave(y, x)));
  error = comm.max(error);
  if (comm.is_root())
    std::printf("error of the wave %s 1e-12\n", error < 1e-12 ? "below" : "above");
  return error < 1e-12 ? ExitCode::ok : ExitCode::verification;
}

}  // namespace

int main(int argc, char** argv) { return tessera::mpi::run_main(&argc, &argv, body); }
