// k-means by products: mpirun -n 4 ./kmeans [STEPS]
//
// Each step computes the scores X C^T of all points, assigns each point to the centroid with the
// largest x c - |c|^2 / 2, and sums the points of each centroid as the product A^T X of the
// assignments. The points are in known clusters. Prints the centroids, which it checks.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <tessera/matmul.hpp>
#include <tessera/mpi.hpp>
#include <vector>

namespace {

using namespace tessera;
using Matrix = dist::DistributedMatrix<double>;
using Middle = std::array<double, 2>;

constexpr index_t points = 999;
constexpr std::array<Middle, 3> middles{{{0, 0}, {9, 0}, {0, 7}}};
constexpr index_t clusters = middles.size(), dims = 2;

/// A point of cluster i % 3, within 1 of its middle.
Middle point(index_t i) {
  const auto [x, y] = middles[static_cast<std::size_t>(i % clusters)];
  const auto number = static_cast<double>(i);
  return {x + std::sin(number), y + std::cos(7 * number)};
}

/// Returns the number of the centroid with the largest score.
index_t nearest(const double* scores, const std::vector<Middle>& centroids) {
  index_t best = 0;
  double most = -INFINITY;
  for (index_t c = 0; c < clusters; ++c) {
    const auto [x, y] = centroids[static_cast<std::size_t>(c)];
    const double score = scores[c] - (x * x + y * y) / 2;
    if (score > most) most = score, best = c;
  }
  return best;
}

ExitCode body(const mpi::Communicator& comm, int steps) {
  const int p = comm.size();
  Matrix x(comm, layout::row_blocks(points, dims, p)),
      scores(comm, layout::row_blocks(points, clusters, p)),
      assigned(comm, layout::row_blocks(points, clusters, p));
  // The centroids and their sums are whole on rank 0.
  std::vector<index_t> offsets(static_cast<std::size_t>(p) + 1, clusters);
  offsets[0] = 0;
  Matrix centroids(comm, layout::row_blocks(clusters, dims, offsets)),
      sums(comm, layout::row_blocks(clusters, dims, offsets));
  const auto mine = x.view();
  for (index_t i = 0; i < mine.rows; ++i) {
    const Middle here = point(x.box().rows.begin + i);
    mine(i, 0) = here[0];
    mine(i, 1) = here[1];
  }
  std::vector<Middle> now;  // on every rank
  for (index_t c = 0; c < clusters; ++c) now.push_back(point(c));
  for (int step = 0; step < steps; ++step) {
    for (index_t c = 0; c < centroids.view().rows; ++c)
      for (index_t d = 0; d < dims; ++d)
        centroids.view()(c, d) = now[static_cast<std::size_t>(c)][static_cast<std::size_t>(d)];
    using dist::matmul::Op, dist::matmul::Product;
    dist::matmul::multiply(
        comm, Product<double>{.a = x, .b = centroids, .op_b = Op::transpose, .c = scores});
    std::array<double, clusters> count{};
    const auto a = assigned.view();
    for (index_t i = 0; i < a.rows; ++i) {
      const index_t best = nearest(&scores.view()(i, 0), now);
      for (index_t c = 0; c < clusters; ++c) a(i, c) = c == best ? 1 : 0;
      count[static_cast<std::size_t>(best)] += 1;
    }
    dist::matmul::multiply(
        comm, Product<double>{.a = assigned, .op_a = Op::transpose, .b = x, .c = sums});
    comm.sum(count);
    for (index_t c = 0; c < sums.view().rows; ++c)
      for (std::size_t d = 0; d < dims; ++d)
        now[static_cast<std::size_t>(c)][d] =
            sums.view()(c, static_cast<index_t>(d)) / count[static_cast<std::size_t>(c)];
    comm.broadcast(std::span(now), 0);
  }
  double error = 0;
  for (std::size_t c = 0; c < now.size(); ++c) {
    if (comm.is_root()) std::printf("%.4f %.4f\n", now[c][0], now[c][1]);
    error =
        std::max({error, std::abs(now[c][0] - middles[c][0]), std::abs(now[c][1] - middles[c][1])});
  }
  return error < 0.1 ? ExitCode::ok : ExitCode::verification;
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 10;
  return mpi::run_main(&argc, &argv,
                       [steps](const mpi::Communicator& comm) { return body(comm, steps); });
}
