// A program that times AMS-sort of KaDiS, which has no benchmark program, for `bash tests/bench.sh
// peers`. Users compile it as kadis_sort against their KaDiS; no target of Tessera contains it. The
// keys, of 64 bits, have the distributions of `tessera sort` and are spread evenly over the ranks.
//   kadis_sort N INPUT [REPETITIONS]     INPUT: uniform, zipf or sorted
// The last line is "KaDiS TIMES [ms] =" and a time for each repetition, generation excluded.

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "AmsSort/AmsSort.hpp"

namespace {

using Keys = std::vector<std::uint64_t>;

std::uint64_t key(const std::string& input, std::mt19937_64& draw, std::uint64_t i,
                  std::uint64_t n) {
  if (input == "sorted") return i * (~std::uint64_t{0} / n);
  const std::uint64_t word = draw();
  if (input == "uniform") return word;
  const double part = static_cast<double>(word >> 11) * 0x1p-53;
  return static_cast<std::uint64_t>(std::pow(1 + part * (std::sqrt(1e3) - 1), 4));
}

/// Tells whether the ranks hold n keys in order.
bool in_order(const Keys& keys, std::uint64_t n, int rank, int ranks) {
  const std::uint64_t ends[2] = {keys.empty() ? 1 : keys.front(), keys.empty() ? 0 : keys.back()};
  std::vector<std::uint64_t> all(2 * static_cast<std::size_t>(ranks));
  MPI_Allgather(ends, 2, MPI_UINT64_T, all.data(), 2, MPI_UINT64_T, MPI_COMM_WORLD);
  std::uint64_t before = 0, total = 0, mine = keys.size();
  for (int r = 0; r < rank; ++r)
    if (all[2 * r] <= all[2 * r + 1]) before = all[2 * r + 1];
  int good = std::is_sorted(keys.begin(), keys.end()) && (keys.empty() || before <= keys.front());
  MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&mine, &total, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return good && total == n;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 3) {
    if (rank == 0) std::fprintf(stderr, "usage: kadis_sort N INPUT [REPETITIONS]\n");
    MPI_Finalize();
    return 64;
  }
  const auto n = static_cast<std::uint64_t>(std::atof(argv[1]));
  const std::string input = argv[2];
  const int repetitions = argc > 3 ? std::atoi(argv[3]) : 4;
  const auto begin_of = [&](int r) { return n * static_cast<std::uint64_t>(r) / ranks; };
  std::mt19937_64 draw(1 + static_cast<std::uint64_t>(rank));
  Keys made;
  for (auto i = begin_of(rank); i < begin_of(rank + 1); ++i) made.push_back(key(input, draw, i, n));
  std::vector<double> times;
  bool right = true;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    Keys keys = made;
    MPI_Barrier(MPI_COMM_WORLD);
    const double began = MPI_Wtime();
    Ams::sortLevel(MPI_UINT64_T, keys, ranks >= 64 ? 2 : 1, draw, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    times.push_back(1e3 * (MPI_Wtime() - began));
    right = right && in_order(keys, n, rank, ranks);
  }
  if (rank == 0 && right) {
    std::printf("KaDiS TIMES [ms] =");
    for (const double time : times) std::printf(" %.3f", time);
    std::printf("\n");
  }
  MPI_Finalize();
  return right ? 0 : 1;
}
