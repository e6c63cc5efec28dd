#include <cblas.h>

#include "kernels/matmul/blas.hpp"
#include "kernels/matmul/operand.hpp"
#include "machine/fork_join.hpp"

namespace tessera::matmul {
namespace {

CBLAS_TRANSPOSE cblas_op(Op op) {
  return op == Op::none ? CblasNoTrans : op == Op::transpose ? CblasTrans : CblasConjTrans;
}

void call(int m, int n, int k, const Gemm<float>& g, int lda, int ldb, int ldc) {
  cblas_sgemm(CblasRowMajor, cblas_op(g.op_a), cblas_op(g.op_b), m, n, k, g.alpha, g.a.data, lda, g.b.data,
              ldb, g.beta, g.c.data, ldc);
}
void call(int m, int n, int k, const Gemm<double>& g, int lda, int ldb, int ldc) {
  cblas_dgemm(CblasRowMajor, cblas_op(g.op_a), cblas_op(g.op_b), m, n, k, g.alpha, g.a.data, lda, g.b.data,
              ldb, g.beta, g.c.data, ldc);
}
void call(int m, int n, int k, const Gemm<Complex<float>>& g, int lda, int ldb, int ldc) {
  cblas_cgemm(CblasRowMajor, cblas_op(g.op_a), cblas_op(g.op_b), m, n, k, &g.alpha, g.a.data, lda, g.b.data,
              ldb, &g.beta, g.c.data, ldc);
}
void call(int m, int n, int k, const Gemm<Complex<double>>& g, int lda, int ldb, int ldc) {
  cblas_zgemm(CblasRowMajor, cblas_op(g.op_a), cblas_op(g.op_b), m, n, k, &g.alpha, g.a.data, lda, g.b.data,
              ldb, &g.beta, g.c.data, ldc);
}

template <class T>
void blas(const Gemm<T>& g, const Tuning&) {
  openblas_set_num_threads(machine::default_threads());
  if (only_scales(g) || g.c.empty()) return scale(g.c, g.beta);
  call(narrow<int>(g.m()), narrow<int>(g.n()), narrow<int>(g.k()), g, narrow<int>(g.a.ld),
       narrow<int>(g.b.ld), narrow<int>(g.c.ld));
}

}  // namespace

std::vector<Variant> blas_rows() {
  return {{{"blas", Space::host, "OpenBLAS through CBLAS, on threads of its own"},
           blas<float>,
           blas<double>,
           {},
           blas<Complex<float>>,
           blas<Complex<double>>}};
}

}  // namespace tessera::matmul
