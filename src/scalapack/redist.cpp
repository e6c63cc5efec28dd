// p?gemr2d: copies a submatrix between two process grids within a third one. A process knows only
// the descriptors of the grids that it is in; the others' are gathered first.

#include <fmt/core.h>

#include <complex>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "dist/relayout/relayout.hpp"
#include "scalapack/arguments.hpp"
#include "scalapack/tessera_scalapack.h"

namespace tessera::inline v1::scalapack {
namespace {

using dist::relayout::LocalArray;
using dist::relayout::StorageOrder;

/// What a process tells the others of one matrix; rows == -1: it is not in its grid.
struct Known {
  int rows = -1, cols = -1, row = -1, col = -1;
  int m = 0, n = 0, mb = 1, nb = 1, rsrc = 0, csrc = 0, i = 0, j = 0;
  index_t unmet = 0;  ///< least leading dimension, if that of this process is less
};

[[nodiscard]] Known known(const Matrix& x) {
  if (x.context < 0) return {};
  const mpi::BlacsGrid grid = mpi::blacs_grid(x.context);
  if (grid.rows < 1 || grid.row < 0 || grid.row >= grid.rows || grid.col >= grid.cols) return {};
  Known mine{grid.rows, grid.cols, grid.row, grid.col, x.m, x.n,
             x.mb,      x.nb,      x.rsrc,   x.csrc,   x.i, x.j};
  const bool sound = x.mb > 0 && x.nb > 0 && x.rsrc >= 0 && x.rsrc < grid.rows && x.m >= 0;
  const index_t least = sound ? x.rows(grid.rows).size(grid.row) : 0;
  if (x.lld < least) mine.unmet = least;
  return mine;
}

/// What a process knows of both matrices.
struct Both {
  Known a, b;
};

/// Returns the distribution of the submatrix among the ranks of all, each of which told what it
/// knows.
[[nodiscard]] layout::Distribution gathered(const std::vector<Both>& all, Known Both::*side,
                                            const char* name, index_t rows, index_t cols) {
  const Known* one = nullptr;
  for (const Both& rank : all) {
    const Known& told = rank.*side;
    if (told.rows > 0 && one == nullptr) one = &told;
    require(told.unmet == 0, ExitCode::usage,
            fmt::format("{}: the leading dimension must be at least {} on process ({}, {})", name,
                        told.unmet, told.row, told.col));
  }
  require(one != nullptr, ExitCode::usage, fmt::format("{}: no process is in its grid", name));
  layout::BlockCyclic cyclic{{one->m, one->mb, one->rows, one->rsrc},
                             {one->n, one->nb, one->cols, one->csrc},
                             {},
                             layout::Box{{one->i, one->i + rows}, {one->j, one->j + cols}}};
  cyclic.ranks.assign(static_cast<std::size_t>(one->rows * one->cols), -1);
  for (std::size_t r = 0; r < all.size(); ++r) {
    const Known& told = all[r].*side;
    if (told.rows > 0)
      cyclic.ranks[static_cast<std::size_t>(told.row * one->cols + told.col)] =
          static_cast<index_t>(r);
  }
  return {cyclic, static_cast<index_t>(all.size())};
}

/// Returns the distribution of a submatrix in whose grid all ranks are.
[[nodiscard]] layout::Distribution of_all(const mpi::Communicator& comm, const Matrix& x,
                                          const Known& mine, index_t rows, index_t cols) {
  const layout::BlockCyclic cyclic{x.rows(mine.rows), x.cols(mine.cols),
                                   comm.ranks_of(mpi::blacs_communicator(x.context)),
                                   layout::Box{{x.i, x.i + rows}, {x.j, x.j + cols}}};
  return {cyclic, comm.size()};
}

template <class T>
struct CopyCall {
  const char* name;
  int m, n;
  const T* a;
  Matrix from;
  T* b;
  Matrix to;
  int context;
};

/// Returns the distributions of a and b. Where all ranks are in both grids, which each can see,
/// nothing is exchanged.
template <class T>
[[nodiscard]] std::pair<layout::Distribution, layout::Distribution> layouts_of(
    const mpi::Communicator& comm, const CopyCall<T>& call, const Both& mine) {
  const auto has_all = [&](const Known& x) { return x.rows * x.cols == comm.size() && x.rows > 0; };
  if (has_all(mine.a) && has_all(mine.b))
    return {of_all(comm, call.from, mine.a, call.m, call.n),
            of_all(comm, call.to, mine.b, call.m, call.n)};
  const std::vector<Both> all = comm.all_gather(std::span<const Both>(&mine, 1));
  return {gathered(all, &Both::a, "A", call.m, call.n),
          gathered(all, &Both::b, "B", call.m, call.n)};
}

template <class T>
void copy(const CopyCall<T>& call) {
  require(call.m >= 0 && call.n >= 0, ExitCode::usage,
          fmt::format("M = {}, N = {}: must be at least 0", call.m, call.n));
  if (call.m == 0 || call.n == 0) return;
  const mpi::Communicator comm = mpi::blacs_communicator(call.context);
  const Both mine{known(call.from), known(call.to)};
  const std::pair layouts = layouts_of(comm, call, mine);
  const dist::relayout::Relayout matrix{layouts.first, dist::relayout::Op::none, layouts.second,
                                        StorageOrder::column_major, StorageOrder::column_major};
  const LocalArray<const T> from{call.a, call.from.lld};
  const LocalArray<T> to{call.b, call.to.lld};
  const dist::relayout::Memory<T> memory{std::span(&from, mine.a.rows > 0 ? 1U : 0U),
                                         std::span(&to, mine.b.rows > 0 ? 1U : 0U)};
  dist::relayout::Plan plan(comm, std::span(&matrix, 1), static_cast<index_t>(sizeof(T)));
  plan.execute(std::span(&memory, 1));
}

/// The arguments that both entries have after m and n.
struct Raw {
  const void* a;
  int ia, ja;
  const int* desca;
  void* b;
  int ib, jb;
  const int* descb;
  int context;
};
template <class T>
void copy(const char* name, int m, int n, const Raw& raw) {
  guarded(name, raw.context, [&] {
    copy<T>({name, m, n, static_cast<const T*>(raw.a), Matrix(raw.ia, raw.ja, raw.desca),
             static_cast<T*>(raw.b), Matrix(raw.ib, raw.jb, raw.descb), raw.context});
  });
}

}  // namespace
}  // namespace tessera::inline v1::scalapack

using namespace tessera::scalapack;  // NOLINT: only the entries follow

/// The Fortran entry and the C entry of a type. Neither calls the other, which may be ScaLAPACK's
/// where that was loaded first.
#define TESSERA_GEMR2D(fortran, c, NAME, T)                                                      \
  void c(int m, int n, const void* a, int ia, int ja, const int* desca, void* b, int ib, int jb, \
         const int* descb, int context) {                                                        \
    copy<T>(NAME, m, n, {a, ia, ja, desca, b, ib, jb, descb, context});                          \
  }                                                                                              \
  void fortran(const int* m, const int* n, const void* a, const int* ia, const int* ja,          \
               const int* desca, void* b, const int* ib, const int* jb, const int* descb,        \
               const int* context) {                                                             \
    copy<T>(NAME, *m, *n, {a, *ia, *ja, desca, b, *ib, *jb, descb, *context});                   \
  }

TESSERA_GEMR2D(psgemr2d_, Cpsgemr2d, "PSGEMR2D", float)
TESSERA_GEMR2D(pdgemr2d_, Cpdgemr2d, "PDGEMR2D", double)
TESSERA_GEMR2D(pcgemr2d_, Cpcgemr2d, "PCGEMR2D", std::complex<float>)
TESSERA_GEMR2D(pzgemr2d_, Cpzgemr2d, "PZGEMR2D", std::complex<double>)
TESSERA_GEMR2D(pigemr2d_, Cpigemr2d, "PIGEMR2D", std::int32_t)
