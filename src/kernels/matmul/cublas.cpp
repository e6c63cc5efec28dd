#include <cublas_v2.h>

#include "kernels/matmul/cuda.hpp"
#include "machine/cuda.hpp"

namespace tessera::matmul {
namespace {

void check(cublasStatus_t rc, const char* call) {
  require(rc == CUBLAS_STATUS_SUCCESS, ExitCode::internal,
          std::string(call) + " failed: " + cublasGetStatusString(rc));
}

class Library {
 public:
  Library() { check(cublasCreate(&handle_), "cublasCreate"); }
  ~Library() { cublasDestroy(handle_); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  operator cublasHandle_t() const {
    return handle_;
  }  // NOLINT: it is the handle wherever the library wants one

 private:
  cublasHandle_t handle_ = nullptr;
};

cublasOperation_t cublas_op(Op op) { return op == Op::none ? CUBLAS_OP_N : CUBLAS_OP_T; }

cublasStatus_t call(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n,
                    int k, const float* alpha, const float* a, int lda, const float* b, int ldb,
                    const float* beta, float* c, int ldc) {
  return cublasSgemm(handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
cublasStatus_t call(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n,
                    int k, const double* alpha, const double* a, int lda, const double* b, int ldb,
                    const double* beta, double* c, int ldc) {
  return cublasDgemm(handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

}  // namespace

template <class T>
void cublas(const Gemm<T>& g, const Tuning&, DeviceStream stream) {
  if (g.c.empty()) return;
  static const Library handle;  // its creation takes a good part of a second
  check(cublasSetStream(handle, stream), "cublasSetStream");
  // Row-major C = A B is column-major C^T = B^T A^T.
  const auto ld = [](const auto& view) { return narrow<int>(std::max<index_t>(1, view.ld)); };
  check(call(handle, cublas_op(g.op_b), cublas_op(g.op_a), narrow<int>(g.n()), narrow<int>(g.m()),
             narrow<int>(g.k()), &g.alpha, g.b.data, ld(g.b), g.a.data, ld(g.a), &g.beta, g.c.data, ld(g.c)),
        "cublasGemm");
}

template void cublas(const Gemm<float>&, const Tuning&, DeviceStream);
template void cublas(const Gemm<double>&, const Tuning&, DeviceStream);

}  // namespace tessera::matmul
