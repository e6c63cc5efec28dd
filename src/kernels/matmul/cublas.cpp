// The vendor's product, gemm of cuBLAS: the reference of the device variants.

#include <cublas_v2.h>

#include "kernels/matmul/cuda.hpp"
#include "kernels/matmul/cuda_mixed.hpp"
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

template <class T>
constexpr auto gemm_of = cublasSgemm;
template <>
constexpr auto gemm_of<double> = cublasDgemm;

/// Returns the library's handle bound to this stream; its creation takes a good part of a second.
cublasHandle_t library(DeviceStream stream) {
  static const Library handle;
  check(cublasSetStream(handle, stream), "cublasSetStream");
  return handle;
}

int ld_of(const auto& view) { return narrow<int>(std::max<index_t>(1, view.ld)); }

template <class T>
constexpr cudaDataType_t data_type = CUDA_R_32F;
template <>
constexpr cudaDataType_t data_type<__nv_bfloat16> = CUDA_R_16BF;
template <>
constexpr cudaDataType_t data_type<__half> = CUDA_R_16F;

}  // namespace

template <class T>
void cublas(const Gemm<T>& g, const Tuning&, DeviceStream stream) {
  if (g.c.empty()) return;
  // Row-major C = A B is column-major C^T = B^T A^T.
  check(gemm_of<T>(library(stream), cublas_op(g.op_b), cublas_op(g.op_a), narrow<int>(g.n()),
                   narrow<int>(g.m()), narrow<int>(g.k()), &g.alpha, g.b.data, ld_of(g.b), g.a.data,
                   ld_of(g.a), &g.beta, g.c.data, ld_of(g.c)),
        "cublasGemm");
}

template <class T>
void cublas_mixed(const MixedGemm<T>& g, DeviceStream stream) {
  if (g.c.empty()) return;
  constexpr auto compute = sizeof(T) == 2 ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_32F_FAST_TF32;
  check(cublasGemmEx(library(stream), cublas_op(g.op_b), cublas_op(g.op_a), narrow<int>(g.c.cols),
                     narrow<int>(g.c.rows), narrow<int>(g.k()), &g.alpha, g.b.data, data_type<T>,
                     ld_of(g.b), g.a.data, data_type<T>, ld_of(g.a), &g.beta, g.c.data, CUDA_R_32F,
                     ld_of(g.c), compute, CUBLAS_GEMM_DEFAULT),
        "cublasGemmEx");
}

template void cublas(const Gemm<float>&, const Tuning&, DeviceStream);
template void cublas(const Gemm<double>&, const Tuning&, DeviceStream);
template void cublas_mixed(const MixedGemm<__nv_bfloat16>&, DeviceStream);
template void cublas_mixed(const MixedGemm<__half>&, DeviceStream);
template void cublas_mixed(const MixedGemm<float>&, DeviceStream);

}  // namespace tessera::matmul
