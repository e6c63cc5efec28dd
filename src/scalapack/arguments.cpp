#include "scalapack/arguments.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <limits>

#include "base/error.hpp"

namespace tessera::inline v1::scalapack {
namespace {

constexpr int per_argument = 100;
constexpr int nothing_wrong = std::numeric_limits<int>::max();
constexpr int block_cyclic = 1, block_cyclic_first = 2;  // types of descriptors
/// Entries of a descriptor of 11, from 1; messages use these numbers for both types.
enum Entry { type_ = 1, context_of, m_, n_, imb_, inb_, mb_, nb_, rsrc_, csrc_, lld_ };

}  // namespace

Matrix::Matrix(int ia, int ja, const int* d) : type(d[0]), context(d[1]), i(ia - 1), j(ja - 1) {
  m = d[2];
  n = d[3];
  const bool has_first = type == block_cyclic_first;
  const int* const blocks = has_first ? d + 6 : d + 4;
  imb = d[4];
  inb = d[5];
  mb = blocks[0];
  nb = blocks[1];
  rsrc = blocks[2];
  csrc = blocks[3];
  lld = blocks[4];
}

layout::Distribution Matrix::distribution(index_t row_count, index_t col_count,
                                          const mpi::BlacsGrid& grid) const {
  layout::BlockCyclic cyclic{rows(grid.rows), cols(grid.cols), {}, {}};
  cyclic.box = layout::Box{{i, i + row_count}, {j, j + col_count}};
  return {cyclic, index_t{grid.rows} * grid.cols};
}

Arguments::Arguments(const char* routine, int context, int descriptor)
    : routine_(routine), context_(context), grid_(mpi::blacs_grid(context)), least_(nothing_wrong) {
  if (grid_.rows == -1) least_ = per_argument * descriptor + context_of;
}

void Arguments::note(int code, const std::string& problem) {
  least_ = std::min(least_, code);
  using Warn = void (*)(int, int, const char*, const char*, ...);
  if (void* const warn = mpi::symbol_of_program("PB_Cwarn"))
    reinterpret_cast<Warn>(warn)(context_, -1, routine_, "%s", problem.c_str());
  else
    std::fprintf(stderr, "PBLAS WARNING '%s'\nfrom {%d,%d}, on routine '%s'.\n", problem.c_str(),
                 grid_.row, grid_.col, routine_);
}

void Arguments::check_op(char op, int number, const char* name) {
  if (grid_.rows == -1 || least_ != nothing_wrong) return;
  if (std::string("NnTtCc").find(op) == std::string::npos)
    note(per_argument * number, fmt::format("Illegal {} = {}", name, op));
}

void Arguments::check_blocks(const char* name, const Matrix& x, int first) {
  const auto at_least_one = [&](int value, Entry entry, const char* word) {
    if (value < 1)
      note(first + entry,
           fmt::format("Illegal DESC{}[{}] = {}, it must be at least 1", name, word, value));
  };
  at_least_one(x.imb, imb_, "IMB_");
  at_least_one(x.inb, inb_, "INB_");
  at_least_one(x.mb, mb_, "MB_");
  at_least_one(x.nb, nb_, "NB_");
  const auto in_grid = [&](int value, int parts, Entry entry, const char* word) {
    if (value < -1 || value >= parts)
      note(first + entry,
           fmt::format("Illegal DESC{}[{}] = {}, it must be either -1, or >= 0 and < {}", name,
                       word, value, parts));
  };
  in_grid(x.rsrc, grid_.rows, rsrc_, "RSRC_");
  in_grid(x.csrc, grid_.cols, csrc_, "CSRC_");
}

void Arguments::check_extents(const char* name, index_t rows, index_t cols, const Matrix& x,
                              Numbers numbers) {
  const int first = per_argument * numbers.descriptor;
  const bool empty = rows == 0 || cols == 0;
  const int least = empty ? 0 : 1;
  const auto extent = [&](int value, Entry entry, const char* word) {
    if (value < least)
      note(first + entry, fmt::format("Illegal DESC{}[{}] = {}, it must be at least {}", name, word,
                                      value, least));
  };
  extent(x.m, m_, "M_");
  extent(x.n, n_, "N_");
  if (empty) {
    if (x.lld < 1)
      note(first + lld_, fmt::format("DESC{}[LLD_] = {}, it must be at least 1", name, x.lld));
    return;
  }
  const auto inside = [&](index_t size, int begin, int whole, int back, const char* what) {
    if (whole >= 1 && begin + size > whole)
      note(per_argument * (numbers.descriptor - back),
           fmt::format("Operation out of bounds: {} {} from {} of {} for {}", size, what, begin + 1,
                       whole, name));
  };
  if (x.m >= 1 && x.n >= 1) {
    inside(rows, x.i, x.m, 2, "rows");
    inside(cols, x.j, x.n, 1, "columns");
  }
  if (least_ == nothing_wrong) check_ld(name, x, first);
}

void Arguments::check_ld(const char* name, const Matrix& x, int first) {
  const index_t rows = x.rows(grid_.rows).size(grid_.row);
  const index_t cols = x.cols(grid_.cols).size(grid_.col);
  const index_t least = std::max<index_t>(1, rows);
  if (x.lld < 1 || (x.lld < least && cols > 0))
    note(first + lld_,
         fmt::format("DESC{}[LLD_] = {}, it must be at least {}", name, x.lld, least));
}

void Arguments::check(const char* name, index_t rows, index_t cols, const Matrix& x,
                      Numbers numbers) {
  if (grid_.rows == -1) return;
  const auto size = [&](index_t value, int number, const char* word) {
    if (value < 0)
      note(per_argument * number, fmt::format("Illegal number of {} of sub( {} ) = {}, it must be "
                                              "at least 0",
                                              word, name, value));
  };
  size(rows, numbers.rows, "rows");
  size(cols, numbers.cols, "columns");
  const auto begins = [&](int value, int back, char letter) {
    if (value < 0)
      note(per_argument * (numbers.descriptor - back),
           fmt::format("Illegal {}{} = {}, it must be at least 1", letter, name, value + 1));
  };
  begins(x.i, 2, 'I');
  begins(x.j, 1, 'J');
  const int first = per_argument * numbers.descriptor;
  if (x.type != block_cyclic && x.type != block_cyclic_first)
    return note(first + type_, fmt::format("Illegal descriptor type {} for matrix {}. PBLAS "
                                           "accepts: {} or {}",
                                           x.type, name, block_cyclic, block_cyclic_first));
  if (x.context != context_)
    return note(first + context_of,
                fmt::format("DESC{}[CTXT_] = {} does not match other operand's context = {}", name,
                            x.context, context_));
  check_blocks(name, x, first);
  check_extents(name, rows, cols, x, numbers);
}

bool Arguments::right() const {
  if (least_ == nothing_wrong) return true;
  const int info = least_ % per_argument == 0 ? -(least_ / per_argument) : -least_;
  if (void* const own = mpi::symbol_of_program("PB_Cabort")) {
    reinterpret_cast<void (*)(int, const char*, int)>(own)(context_, routine_, info);
    return false;
  }
  const int argument = least_ / per_argument, entry = least_ % per_argument;
  die(routine_, context_,
      entry == 0 ? fmt::format("Parameter number {} had an illegal value", argument)
                 : fmt::format("Parameter number {}, entry number {} had an illegal value",
                               argument, entry));
}

void die(const char* routine, int context, const std::string& problem) {
  const mpi::BlacsGrid grid = context >= 0 ? mpi::blacs_grid(context) : mpi::BlacsGrid{};
  std::fprintf(stderr, "PBLAS ERROR '%s'\nfrom {%d,%d}, on routine '%s'.\n", problem.c_str(),
               grid.row, grid.col, routine);
  mpi::blacs_abort(context, 1);
}

}  // namespace tessera::inline v1::scalapack
