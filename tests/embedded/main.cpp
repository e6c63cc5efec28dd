// embedded_test LEVEL RANKS: initialises MPI at that thread level and runs the tests on a
// communicator of the last RANKS ranks in reverse order, while the other ranks compute and send
// each other messages on MPI_COMM_WORLD.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "embedded/watch.hpp"
#include "mpi/communicator.hpp"

namespace {

namespace embedded = tessera::embedded;

constexpr int done_tag = 77, ring_tag = 101;  // one of Tessera's own tags

int level_of(const std::string& name) {
  return name == "single"       ? MPI_THREAD_SINGLE
         : name == "funneled"   ? MPI_THREAD_FUNNELED
         : name == "serialized" ? MPI_THREAD_SERIALIZED
                                : MPI_THREAD_MULTIPLE;
}

/// What ranks without a part do until the part is done; returns its verdict.
int others(int rank, int count) {
  double sum = 0;
  int done = 0;
  while (done == 0) {
    for (int i = 1; i < 10000; ++i) sum += std::sqrt(i);
    std::array<double, 64> out{sum}, in{};
    PMPI_Sendrecv(out.data(), 64, MPI_DOUBLE, (rank + 1) % count, ring_tag, in.data(), 64,
                  MPI_DOUBLE, (rank + count - 1) % count, ring_tag, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE);
    if (rank == 0) PMPI_Iprobe(MPI_ANY_SOURCE, done_tag, MPI_COMM_WORLD, &done, MPI_STATUS_IGNORE);
    for (int r = 1; r < count; ++r) {
      if (rank == 0) PMPI_Send(&done, 1, MPI_INT, r, ring_tag, MPI_COMM_WORLD);
      if (rank == r) PMPI_Recv(&done, 1, MPI_INT, 0, ring_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  return 0;
}

/// Runs the tests with a pending receive of the program that any message on MPI_COMM_WORLD matches.
int tests(int rank, int size, int ranks) {
  int number = -1, failed = 0, all_failed = 0, here = 0;
  MPI_Request pending = MPI_REQUEST_NULL;
  PMPI_Irecv(&number, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &pending);
  PMPI_Comm_rank(embedded::part, &here);
  if (here != 0) {
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    class Failures : public testing::EmptyTestEventListener {
      void OnTestPartResult(const testing::TestPartResult& result) override {
        if (!result.failed()) return;
        std::fprintf(stderr, "%s:%d: %s\n", result.file_name(), result.line_number(),
                     result.message());
      }
    };
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new Failures);
  }
  failed = RUN_ALL_TESTS();
  int early = 0;
  PMPI_Test(&pending, &early, MPI_STATUS_IGNORE);
  failed += early;  // a message of the library arrived at the program
  PMPI_Allreduce(&failed, &all_failed, 1, MPI_INT, MPI_SUM, embedded::part);
  if (here == 0 && ranks < size) PMPI_Send(&here, 1, MPI_INT, 0, done_tag, MPI_COMM_WORLD);
  const int next = size - ranks + (rank - (size - ranks) + 1) % ranks;
  PMPI_Send(&rank, 1, MPI_INT, next, 5, MPI_COMM_WORLD);
  if (early == 0) PMPI_Wait(&pending, MPI_STATUS_IGNORE);
  return all_failed + (size - ranks + (number - (size - ranks) + 1) % ranks == rank ? 0 : 1);
}

int freed = 0;  // duplicates that MPI_Finalize has freed

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 3) return 64;
  MPI_Init_thread(&argc, &argv, level_of(argv[1]), &embedded::level);
  embedded::begin_watch();
  int rank = 0, size = 1, failed = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int ranks = std::atoi(argv[2]);
  const bool mine = rank >= size - ranks;
  PMPI_Comm_split(MPI_COMM_WORLD, mine ? 1 : MPI_UNDEFINED, -rank, &embedded::part);
  if (mine) {
    failed = tests(rank, size, ranks);
    int key = MPI_KEYVAL_INVALID;
    MPI_Comm_create_keyval(
        MPI_COMM_NULL_COPY_FN, [](MPI_Comm, int, void*, void*) { return ++freed, MPI_SUCCESS; },
        &key, nullptr);
    MPI_Comm_set_attr(tessera::mpi::Communicator(embedded::part).handle(), key, nullptr);
  } else {
    failed = others(rank, size - ranks);
  }
  int all_failed = 0;
  PMPI_Allreduce(&failed, &all_failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  if (mine && freed != 1) {
    std::fprintf(stderr, "MPI_Finalize freed %d duplicates instead of 1\n", freed);
    return 1;
  }
  return all_failed == 0 ? 0 : 1;
}
