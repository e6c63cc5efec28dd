/* The frame of tests on ranks: `program RANKS ...` hands the last RANKS ranks of MPI_COMM_WORLD, in
 * reverse order, to test(); the others compute and send each other messages meanwhile. */
#ifndef RANKS_H
#define RANKS_H

#include <mpi.h>

#include "check.h"

static void test(MPI_Comm part);

/* Those of the program, of which argument[0] is its name and argument[1] RANKS. */
static int arguments;
static char** argument;

static void compute_meanwhile(MPI_Comm others) {
  int rank, count, done = 0;
  double sum = 0;
  MPI_Comm_rank(others, &rank);
  MPI_Comm_size(others, &count);
  while (!done) {
    double in = 0;
    for (int i = 1; i < 10000; ++i) sum += sqrt(i);
    MPI_Sendrecv(&sum, 1, MPI_DOUBLE, (rank + 1) % count, 1, &in, 1, MPI_DOUBLE,
                 (rank + count - 1) % count, 1, others, MPI_STATUS_IGNORE);
    if (rank == 0) MPI_Iprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &done, MPI_STATUS_IGNORE);
    MPI_Bcast(&done, 1, MPI_INT, 0, others);
  }
  if (rank == 0) MPI_Recv(&done, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  int rank, size, here, all_failures = 0;
  MPI_Comm part;
  MPI_Init(&argc, &argv);
  arguments = argc - 1, argument = argv;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int ranks = argc > 1 ? atoi(argv[1]) : size, mine = rank >= size - ranks;
  MPI_Comm_split(MPI_COMM_WORLD, mine, -rank, &part);
  MPI_Comm_rank(part, &here);
  if (mine) {
    test(part);
    MPI_Barrier(part);
    if (here == 0 && ranks < size) MPI_Send(&here, 1, MPI_INT, size - ranks - 1, 2, MPI_COMM_WORLD);
  } else {
    compute_meanwhile(part);
  }
  MPI_Allreduce(&failures, &all_failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Comm_free(&part);
  MPI_Finalize();
  return all_failures == 0 ? 0 : 1;
}

#endif
