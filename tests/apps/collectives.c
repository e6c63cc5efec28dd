// Preloaded into a program: records its collective MPI calls up to the first repetition
// (MPI_Pcontrol(1, ...)) and at the end writes rank 0's names, one per line, to the file named by
// TESSERA_COLLECTIVES. With TESSERA_COLLECTIVES_FROM=1 the addresses of the callers follow each
// name.

#define _GNU_SOURCE
#include <execinfo.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static FILE* list = NULL;
static int ended = 0;

static void begin(void) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char* const file = getenv("TESSERA_COLLECTIVES");
  if (rank == 0 && file != NULL) list = fopen(file, "w");
}

static void end(void) {
  ended = 1;
  if (list != NULL) fclose(list);
  list = NULL;
}

static void note(const char* name) {
  if (list == NULL || ended) return;
  fprintf(list, "%s", name);
  if (getenv("TESSERA_COLLECTIVES_FROM") != NULL) {
    void* callers[24];
    const int count = backtrace(callers, 24);
    for (int i = 2; i < count; ++i) fprintf(list, " %p", callers[i]);
  }
  fprintf(list, "\n");
  fflush(list);
}

int MPI_Init(int* argc, char*** argv) {
  const int rc = PMPI_Init(argc, argv);
  begin();
  return rc;
}
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int rc = PMPI_Init_thread(argc, argv, required, provided);
  begin();
  return rc;
}
int MPI_Finalize(void) {
  end();
  return PMPI_Finalize();
}
int MPI_Pcontrol(const int level, ...) {
  if (level == 1) end();
  return MPI_SUCCESS;
}

// Defines an MPI function that records its call.
#define COUNTED(name, parameters, arguments) \
  int MPI_##name parameters {                \
    note(#name);                             \
    return PMPI_##name arguments;            \
  }

COUNTED(Barrier, (MPI_Comm c), (c))
COUNTED(Bcast, (void* b, int n, MPI_Datatype t, int root, MPI_Comm c), (b, n, t, root, c))
COUNTED(Allreduce, (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c),
        (s, r, n, t, op, c))
COUNTED(Reduce, (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm c),
        (s, r, n, t, op, root, c))
COUNTED(Gather,
        (const void* s, int m, MPI_Datatype t, void* r, int n, MPI_Datatype u, int root,
         MPI_Comm c),
        (s, m, t, r, n, u, root, c))
COUNTED(Gatherv,
        (const void* s, int m, MPI_Datatype t, void* r, const int n[], const int at[],
         MPI_Datatype u, int root, MPI_Comm c),
        (s, m, t, r, n, at, u, root, c))
COUNTED(Scatter,
        (const void* s, int m, MPI_Datatype t, void* r, int n, MPI_Datatype u, int root,
         MPI_Comm c),
        (s, m, t, r, n, u, root, c))
COUNTED(Allgather,
        (const void* s, int m, MPI_Datatype t, void* r, int n, MPI_Datatype u, MPI_Comm c),
        (s, m, t, r, n, u, c))
COUNTED(Allgatherv,
        (const void* s, int m, MPI_Datatype t, void* r, const int n[], const int at[],
         MPI_Datatype u, MPI_Comm c),
        (s, m, t, r, n, at, u, c))
COUNTED(Alltoall,
        (const void* s, int m, MPI_Datatype t, void* r, int n, MPI_Datatype u, MPI_Comm c),
        (s, m, t, r, n, u, c))
COUNTED(Alltoallv,
        (const void* s, const int m[], const int from[], MPI_Datatype t, void* r, const int n[],
         const int at[], MPI_Datatype u, MPI_Comm c),
        (s, m, from, t, r, n, at, u, c))
COUNTED(Exscan, (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c),
        (s, r, n, t, op, c))
COUNTED(Scan, (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c),
        (s, r, n, t, op, c))
// The forms that start, for MPI libraries that spin in the others.
COUNTED(Ibarrier, (MPI_Comm c, MPI_Request* q), (c, q))
COUNTED(Ibcast, (void* b, int n, MPI_Datatype t, int root, MPI_Comm c, MPI_Request* q),
        (b, n, t, root, c, q))
COUNTED(Iallreduce,
        (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c, MPI_Request* q),
        (s, r, n, t, op, c, q))
COUNTED(Igather,
        (const void* s, int m, MPI_Datatype t, void* r, int n, MPI_Datatype u, int root, MPI_Comm c,
         MPI_Request* q),
        (s, m, t, r, n, u, root, c, q))
COUNTED(Igatherv,
        (const void* s, int m, MPI_Datatype t, void* r, const int n[], const int at[],
         MPI_Datatype u, int root, MPI_Comm c, MPI_Request* q),
        (s, m, t, r, n, at, u, root, c, q))
COUNTED(Iallgather,
        (const void* s, int m, MPI_Datatype t, void* r, int n, MPI_Datatype u, MPI_Comm c,
         MPI_Request* q),
        (s, m, t, r, n, u, c, q))
COUNTED(Ialltoall,
        (const void* s, int m, MPI_Datatype t, void* r, int n, MPI_Datatype u, MPI_Comm c,
         MPI_Request* q),
        (s, m, t, r, n, u, c, q))
COUNTED(Comm_dup, (MPI_Comm c, MPI_Comm* made), (c, made))
COUNTED(Comm_idup, (MPI_Comm c, MPI_Comm* made, MPI_Request* q), (c, made, q))
COUNTED(Comm_split, (MPI_Comm c, int color, int key, MPI_Comm* made), (c, color, key, made))
COUNTED(Comm_split_type, (MPI_Comm c, int type, int key, MPI_Info i, MPI_Comm* made),
        (c, type, key, i, made))
COUNTED(Win_allocate_shared,
        (MPI_Aint n, int unit, MPI_Info i, MPI_Comm c, void* at, MPI_Win* made),
        (n, unit, i, c, at, made))
COUNTED(Win_free, (MPI_Win * w), (w))
