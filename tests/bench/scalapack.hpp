#pragma once
// Declarations of the used functions of ScaLAPACK and its BLACS (Debian: libscalapack-openmpi-dev),
// which install no header.

#include <algorithm>
#include <array>

#include "base/index.hpp"
#include "machine/buffer.hpp"

extern "C" {
void Cblacs_pinfo(int* rank, int* ranks);
void Cblacs_get(int context, int what, int* value);
void Cblacs_gridinit(int* context, const char* order, int rows, int cols);
void Cblacs_gridinfo(int context, int* rows, int* cols, int* row, int* col);
void Cblacs_gridexit(int context);
int numroc_(const int* n, const int* block, const int* process, const int* source,
            const int* processes);
void descinit_(int* desc, const int* m, const int* n, const int* mb, const int* nb, const int* rsrc,
               const int* csrc, const int* context, const int* lld, int* info);
void pdtran_(const int* m, const int* n, const double* alpha, const double* a, const int* ia,
             const int* ja, const int* desca, const double* beta, double* c, const int* ic,
             const int* jc, const int* descc);
void pdgemm_(const char* trans_a, const char* trans_b, const int* m, const int* n, const int* k,
             const double* alpha, const double* a, const int* ia, const int* ja, const int* desca,
             const double* b, const int* ib, const int* jb, const int* descb, const double* beta,
             double* c, const int* ic, const int* jc, const int* descc);
}

namespace tessera::bench {

/// Grid of all ranks.
class BlacsGrid {
 public:
  BlacsGrid(index_t rows, index_t cols) {
    Cblacs_get(0, 0, &context_);
    Cblacs_gridinit(&context_, "R", static_cast<int>(rows), static_cast<int>(cols));
    Cblacs_gridinfo(context_, &rows_, &cols_, &row_, &col_);
  }
  ~BlacsGrid() { Cblacs_gridexit(context_); }
  BlacsGrid(const BlacsGrid&) = delete;
  BlacsGrid& operator=(const BlacsGrid&) = delete;

  int context_ = 0, rows_ = 1, cols_ = 1, row_ = 0, col_ = 0;
};

/// This rank's part of an m x n matrix (column-major), distributed block-cyclically over a grid.
class BlockCyclic {
 public:
  BlockCyclic(const BlacsGrid& grid, index_t m, index_t n, index_t block, double value) {
    const int zero = 0, mi = static_cast<int>(m), ni = static_cast<int>(n),
              nb = static_cast<int>(block);
    const int rows = numroc_(&mi, &nb, &grid.row_, &zero, &grid.rows_);
    const int cols = numroc_(&ni, &nb, &grid.col_, &zero, &grid.cols_);
    const int lld = std::max(1, rows);
    int info = 0;
    descinit_(descriptor.data(), &mi, &ni, &nb, &nb, &zero, &zero, &grid.context_, &lld, &info);
    require(info == 0, ExitCode::internal, "descinit failed");
    data = machine::Buffer<double>(std::max<index_t>(1, index_t{rows} * cols));
    std::fill(data.begin(), data.end(), value);
  }

  std::array<int, 9> descriptor{};
  machine::Buffer<double> data;
};

}  // namespace tessera::bench
