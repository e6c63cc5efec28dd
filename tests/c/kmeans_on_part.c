/* The installed kmeans.c on a part of the ranks, while the others compute and send each other
 * messages: kmeans_on_part RANKS and the arguments of kmeans. */
#include "ranks.h"

static MPI_Comm given = MPI_COMM_NULL;
#undef MPI_COMM_WORLD
#define MPI_COMM_WORLD given
#define MPI_Init(argc, argv) ((void)(argc), (void)(argv))
#define MPI_Finalize() ((void)0)
#define main kmeans
#include KMEANS
#undef main

static void test(MPI_Comm part) {
  given = part;
  CHECK(kmeans(arguments, argument + 1) == 0);
}
