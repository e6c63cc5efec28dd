#include "embedded/watch.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

extern char** environ;

namespace tessera::embedded {
namespace {

std::thread::id main_thread;

void saw(MPI_Comm comm) {
  ++calls;
  if (comm == MPI_COMM_WORLD) ++calls_on_world;
  if (level != MPI_THREAD_MULTIPLE && std::this_thread::get_id() != main_thread) ++calls_by_others;
}

}  // namespace

void begin_watch() { main_thread = std::this_thread::get_id(); }

ProcessState ProcessState::now() {
  ProcessState state;
  for (char** entry = environ; *entry != nullptr; ++entry) state.environment.emplace_back(*entry);
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    sigaction(number, nullptr, &action);
    state.handlers[static_cast<std::size_t>(number)] = action.sa_handler;
  }
  H5Eget_auto2(H5E_DEFAULT, &state.prints, &state.about);
  return state;
}

Captured::Captured() {
  std::fflush(nullptr);
  char name[] = "/tmp/tessera_embedded_XXXXXX";
  file_ = mkstemp(name);
  unlink(name);
  out_ = dup(STDOUT_FILENO);
  error_ = dup(STDERR_FILENO);
  dup2(file_, STDOUT_FILENO);
  dup2(file_, STDERR_FILENO);
}

long Captured::end() {
  if (file_ < 0) return 0;
  std::fflush(nullptr);
  dup2(out_, STDOUT_FILENO);
  dup2(error_, STDERR_FILENO);
  struct stat status {};
  fstat(file_, &status);
  for (const int descriptor : {file_, out_, error_}) close(descriptor);
  file_ = -1;
  return static_cast<long>(status.st_size);
}

Captured::~Captured() { end(); }

}  // namespace tessera::embedded

using tessera::embedded::saw;

#define WATCH(name, comm, parameters, arguments) \
  extern "C" int MPI_##name parameters {         \
    saw(comm);                                   \
    return PMPI_##name arguments;                \
  }

WATCH(Barrier, c, (MPI_Comm c), (c))
WATCH(Bcast, c, (void* b, int n, MPI_Datatype t, int r, MPI_Comm c), (b, n, t, r, c))
WATCH(Allreduce, c, (const void* a, void* b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c),
      (a, b, n, t, o, c))
WATCH(Allgather, c,
      (const void* a, int n, MPI_Datatype t, void* b, int m, MPI_Datatype u, MPI_Comm c),
      (a, n, t, b, m, u, c))
WATCH(Alltoall, c,
      (const void* a, int n, MPI_Datatype t, void* b, int m, MPI_Datatype u, MPI_Comm c),
      (a, n, t, b, m, u, c))
WATCH(Gather, c,
      (const void* a, int n, MPI_Datatype t, void* b, int m, MPI_Datatype u, int r, MPI_Comm c),
      (a, n, t, b, m, u, r, c))
WATCH(Gatherv, c,
      (const void* a, int n, MPI_Datatype t, void* b, const int* m, const int* d, MPI_Datatype u,
       int r, MPI_Comm c),
      (a, n, t, b, m, d, u, r, c))
WATCH(Comm_dup, c, (MPI_Comm c, MPI_Comm* d), (c, d))
WATCH(Comm_idup, c, (MPI_Comm c, MPI_Comm* d, MPI_Request* r), (c, d, r))
WATCH(Comm_split, c, (MPI_Comm c, int k, int r, MPI_Comm* d), (c, k, r, d))
WATCH(Comm_split_type, c, (MPI_Comm c, int k, int r, MPI_Info i, MPI_Comm* d), (c, k, r, i, d))
WATCH(Comm_set_errhandler, c, (MPI_Comm c, MPI_Errhandler e), (c, e))
WATCH(Abort, c, (MPI_Comm c, int code), (c, code))
WATCH(Win_allocate_shared, c, (MPI_Aint n, int u, MPI_Info i, MPI_Comm c, void* b, MPI_Win* w),
      (n, u, i, c, b, w))
WATCH(Isend, c, (const void* b, int n, MPI_Datatype t, int p, int g, MPI_Comm c, MPI_Request* r),
      (b, n, t, p, g, c, r))
WATCH(Irecv, c, (void* b, int n, MPI_Datatype t, int p, int g, MPI_Comm c, MPI_Request* r),
      (b, n, t, p, g, c, r))
WATCH(Testall, MPI_COMM_NULL, (int n, MPI_Request* r, int* d, MPI_Status* s), (n, r, d, s))
WATCH(Waitall, MPI_COMM_NULL, (int n, MPI_Request* r, MPI_Status* s), (n, r, s))
