#include "traffic.hpp"

#include <mpi.h>

namespace tessera::smpi {

Traffic& traffic() {
  static Traffic all;
  return all;
}

}  // namespace tessera::smpi

using tessera::smpi::traffic;

// Calls of mpi/. A rank is a thread here, which SMPI's own call does not promise to support.
extern "C" {

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  *provided = required;
  return PMPI_Init(argc, argv);
}

int MPI_Isend(const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              MPI_Request* request) {
  int size = 0;
  PMPI_Type_size(type, &size);
  ++traffic().messages;
  traffic().bytes += tessera::index_t{count} * size;
  return PMPI_Isend(data, count, type, peer, tag, comm, request);
}

int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  ++traffic().collectives;
  return PMPI_Bcast(data, count, type, root, comm);
}

int MPI_Allgather(const void* from, int count, MPI_Datatype type, void* to, int to_count,
                  MPI_Datatype to_type, MPI_Comm comm) {
  ++traffic().collectives;
  return PMPI_Allgather(from, count, type, to, to_count, to_type, comm);
}

int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  ++traffic().collectives;
  return PMPI_Allreduce(from, to, count, type, op, comm);
}

int MPI_Alltoall(const void* from, int count, MPI_Datatype type, void* to, int to_count,
                 MPI_Datatype to_type, MPI_Comm comm) {
  ++traffic().collectives;
  return PMPI_Alltoall(from, count, type, to, to_count, to_type, comm);
}

}  // extern "C"
