// The entries next to those of the ScaLAPACK of this machine, with its BLACS; skipped without one.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <cmath>
#include <vector>

#include "tessera_scalapack.h"

namespace tessera::scalapack {
namespace {

/// Returns the ScaLAPACK for the MPI library of this build, or nullptr.
void* scalapack() {
#ifdef OPEN_MPI
  const char* const name = "libscalapack-openmpi.so.2.2";
#else
  const char* const name = "libscalapack-mpich.so.2.2";
#endif
  static void* const library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);  // the entries find the BLACS
  return library;
}
template <class F>
F* routine(const char* name) {
  return reinterpret_cast<F*>(dlsym(scalapack(), name));
}

class BesideScalapack : public testing::Test {
 protected:
  void SetUp() override {
    if (scalapack() == nullptr) GTEST_SKIP() << "no ScaLAPACK here: " << dlerror();
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    grid_rows_ = static_cast<int>(std::sqrt(ranks));
    while (ranks % grid_rows_ != 0) --grid_rows_;
    grid_cols_ = ranks / grid_rows_;
    routine<void(int, int, int*)>("Cblacs_get")(-1, 0, &context_);
    // Column by column: the ranks of the context are not those of MPI_COMM_WORLD.
    routine<void(int*, const char*, int, int)>("Cblacs_gridinit")(&context_, "Col", grid_rows_,
                                                                  grid_cols_);
    routine<void(int, int*, int*, int*, int*)>("Cblacs_gridinfo")(context_, &grid_rows_,
                                                                  &grid_cols_, &row_, &col_);
  }
  void TearDown() override {
    if (scalapack() != nullptr) routine<void(int)>("Cblacs_gridexit")(context_);
  }

  struct Local {
    int descriptor[9];
    std::vector<double> data;
  };
  /// Returns a matrix of n x n with values of the place in memory.
  [[nodiscard]] Local matrix(int n, int block, double seed) const {
    const int zero = 0;
    const auto numroc =
        routine<int(const int*, const int*, const int*, const int*, const int*)>("numroc_");
    const int rows = std::max(1, numroc(&n, &block, &row_, &zero, &grid_rows_));
    const int cols = std::max(1, numroc(&n, &block, &col_, &zero, &grid_cols_));
    Local result{{1, context_, n, n, block, block, 0, 0, rows + 3}, {}};
    for (int k = 0; k < (rows + 3) * cols; ++k)
      result.data.push_back(std::sin(seed + k + 17 * row_ + 31 * col_));
    return result;
  }
  static double largest_difference(const std::vector<double>& x, const std::vector<double>& y) {
    double most = 0;
    for (std::size_t k = 0; k < x.size(); ++k) most = std::max(most, std::abs(x[k] - y[k]));
    return most;
  }

  int context_ = -1, grid_rows_ = 1, grid_cols_ = 1, row_ = 0, col_ = 0;
};

TEST_F(BesideScalapack, ProductsAgree) {
  const int n = 70, m = 61, k = 53, ia = 3, ja = 9, ib = 5, jb = 2, ic = 7, jc = 1;
  const double alpha = 1.5, beta = -0.5;
  const Local a = matrix(n, 7, 1), b = matrix(n, 11, 2), c = matrix(n, 5, 3);
  for (const char* const op : {"N", "T"}) {
    const int width = 55;
    Local ours = c, theirs = c;
    const auto call = [&](auto* gemm, Local& result) {
      gemm(op, "N", &m, &width, &k, &alpha, a.data.data(), *op == 'N' ? &ia : &ja,
           *op == 'N' ? &ja : &ia, a.descriptor, b.data.data(), &ib, &jb, b.descriptor, &beta,
           result.data.data(), &ic, &jc, result.descriptor);
    };
    call(pdgemm_, ours);
    call(routine<decltype(pdgemm_)>("pdgemm_"), theirs);
    EXPECT_LT(largest_difference(ours.data, theirs.data), 1e-12) << op;
    EXPECT_GT(largest_difference(ours.data, c.data), 0.1);
  }
}

TEST_F(BesideScalapack, TransposesAndCopiesAgreeBitByBit) {
  const int n = 70, m = 61, width = 55, ia = 3, ja = 9, ic = 7, jc = 1;
  const double alpha = 2, beta = -0.5;
  const Local a = matrix(n, 7, 1), c = matrix(n, 5, 3);
  Local ours = c, theirs = c;
  pdtran_(&m, &width, &alpha, a.data.data(), &ia, &ja, a.descriptor, &beta, ours.data.data(), &ic,
          &jc, ours.descriptor);
  routine<decltype(pdtran_)>("pdtran_")(&m, &width, &alpha, a.data.data(), &ia, &ja, a.descriptor,
                                        &beta, theirs.data.data(), &ic, &jc, theirs.descriptor);
  EXPECT_LT(largest_difference(ours.data, theirs.data), 1e-15);
  ours = theirs = c;
  pdgemr2d_(&m, &width, a.data.data(), &ia, &ja, a.descriptor, ours.data.data(), &ic, &jc,
            ours.descriptor, &context_);
  routine<decltype(pdgemr2d_)>("pdgemr2d_")(&m, &width, a.data.data(), &ia, &ja, a.descriptor,
                                            theirs.data.data(), &ic, &jc, theirs.descriptor,
                                            &context_);
  EXPECT_EQ(ours.data, theirs.data);
  EXPECT_NE(ours.data, c.data);
}

}  // namespace
}  // namespace tessera::scalapack
