#include "scalapack/blacs.hpp"

#include <cstdlib>
#include <utility>

namespace tessera::scalapack {
namespace {

struct Context {
  MPI_Comm comm;
  int rows, cols;
};
std::vector<Context> contexts;
int info = 0;
std::string routine;
constexpr int first_handle = 1000;  // handles of communicators are not contexts

}  // namespace

int make_context(int rows, int cols, const std::vector<int>& members) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int place = MPI_UNDEFINED;
  for (int k = 0; k < rows * cols; ++k)
    if (members[static_cast<std::size_t>(k)] == rank) place = k;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, place == MPI_UNDEFINED ? MPI_UNDEFINED : 0, place, &comm);
  if (comm == MPI_COMM_NULL) return -1;
  contexts.push_back({comm, rows, cols});
  return static_cast<int>(contexts.size()) - 1;
}

void free_contexts() {
  for (Context& context : contexts) MPI_Comm_free(&context.comm);
  contexts.clear();
}

int reported() { return std::exchange(info, 0); }
std::string reported_routine() { return routine; }

}  // namespace tessera::scalapack

using namespace tessera::scalapack;

extern "C" {

void Cblacs_gridinfo(int context, int* rows, int* cols, int* row, int* col) {
  *rows = *cols = *row = *col = -1;
  if (context < 0 || context >= static_cast<int>(contexts.size())) return;
  const Context& c = contexts[static_cast<std::size_t>(context)];
  int rank = 0;
  MPI_Comm_rank(c.comm, &rank);
  *rows = c.rows;
  *cols = c.cols;
  *row = rank / c.cols;
  *col = rank % c.cols;
}

void Cblacs_get(int context, int what, int* value) {
  if (what == 10) *value = first_handle + context;
}

MPI_Comm Cblacs2sys_handle(int handle) {
  return contexts[static_cast<std::size_t>(handle - first_handle)].comm;
}

void PB_Cabort(int, const char* name, int number) {
  info = number;
  routine = name;
}
void PB_Cwarn(int, int, const char*, const char*, ...) {}

}  // extern "C"
