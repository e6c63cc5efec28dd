// The vendor's product, gemm of cuBLAS: the reference of the device variants. The library, of 0.5
// GB, is loaded at its first use.

#include <cublas_v2.h>
#include <dlfcn.h>

#include <cstdlib>

#include "kernels/matmul/cuda.hpp"
#include "kernels/matmul/cuda_mixed.hpp"
#include "machine/cuda.hpp"
#include "machine/loaded.hpp"

#define TESSERA_TEXT_OF(x) #x
#define TESSERA_TEXT(x) TESSERA_TEXT_OF(x)

namespace tessera::inline v1::matmul {
namespace {

using GemmEx = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, int m, int n,
                              int k, const void* alpha, const void* a, cudaDataType, int lda,
                              const void* b, cudaDataType, int ldb, const void* beta, void* c,
                              cudaDataType, int ldc, cublasComputeType_t, cublasGemmAlgo_t);

struct Library {
  std::string missing;
  decltype(&cublasCreate) create = nullptr;
  decltype(&cublasDestroy) destroy = nullptr;
  decltype(&cublasSetStream) set_stream = nullptr;
  decltype(&cublasGetStatusString) text = nullptr;
  decltype(&cublasSgemm) sgemm = nullptr;
  decltype(&cublasDgemm) dgemm = nullptr;
  GemmEx* gemm_ex = nullptr;
};

Library load() {
  Library found;
  constexpr const char* name = "libcublas.so." TESSERA_TEXT(CUBLAS_VER_MAJOR);
  constexpr const char* of_toolkit =
      TESSERA_CUDA_LIBRARIES "/libcublas.so." TESSERA_TEXT(CUBLAS_VER_MAJOR);
  void* file = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (file == nullptr) {
    found.missing = dlerror();
    file = dlopen(of_toolkit, RTLD_NOW | RTLD_LOCAL);
  }
  if (file == nullptr) return found;
  found.missing.clear();
  // The names that the macros of cublas_v2.h stand for.
  machine::find_function(file, TESSERA_TEXT(cublasCreate), found.create, found.missing);
  machine::find_function(file, TESSERA_TEXT(cublasDestroy), found.destroy, found.missing);
  machine::find_function(file, TESSERA_TEXT(cublasSetStream), found.set_stream, found.missing);
  machine::find_function(file, TESSERA_TEXT(cublasGetStatusString), found.text, found.missing);
  machine::find_function(file, TESSERA_TEXT(cublasSgemm), found.sgemm, found.missing);
  machine::find_function(file, TESSERA_TEXT(cublasDgemm), found.dgemm, found.missing);
  machine::find_function(file, TESSERA_TEXT(cublasGemmEx), found.gemm_ex, found.missing);
  return found;
}

const Library& library() {
  static const Library found = load();
  return found;
}

void check(cublasStatus_t rc, const char* call) {
  require(rc == CUBLAS_STATUS_SUCCESS, ExitCode::internal,
          std::string(call) + " failed: " + library().text(rc));
}

class Handle {
 public:
  Handle() {
    require(library().missing.empty(), ExitCode::usage,
            "cuBLAS cannot be loaded: " + library().missing);
    check(library().create(&handle_), "cublasCreate");
  }
  ~Handle() { library().destroy(handle_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator cublasHandle_t() const {
    return handle_;
  }  // NOLINT: it is the handle wherever the library wants one

 private:
  cublasHandle_t handle_ = nullptr;
};

cublasOperation_t cublas_op(Op op) { return op == Op::none ? CUBLAS_OP_N : CUBLAS_OP_T; }

auto gemm_of(float) { return library().sgemm; }
auto gemm_of(double) { return library().dgemm; }

/// Returns the library's handle bound to this stream; its creation takes a good part of a second.
cublasHandle_t handle_on(DeviceStream stream) {
  static const Handle handle;
  check(library().set_stream(handle, stream), "cublasSetStream");
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

const std::string& cublas_missing() { return library().missing; }

template <class T>
void cublas(const Gemm<T>& g, const Tuning&, DeviceStream stream) {
  if (g.c.empty()) return;
  // Row-major C = A B is column-major C^T = B^T A^T.
  const cublasHandle_t handle = handle_on(stream);
  check(gemm_of(T{})(handle, cublas_op(g.op_b), cublas_op(g.op_a), narrow<int>(g.n()),
                     narrow<int>(g.m()), narrow<int>(g.k()), &g.alpha, g.b.data, ld_of(g.b),
                     g.a.data, ld_of(g.a), &g.beta, g.c.data, ld_of(g.c)),
        "cublasGemm");
}

template <class T>
void cublas_mixed(const MixedGemm<T>& g, DeviceStream stream) {
  if (g.c.empty()) return;
  constexpr auto compute = sizeof(T) == 2 ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_32F_FAST_TF32;
  const cublasHandle_t handle = handle_on(stream);
  check(library().gemm_ex(handle, cublas_op(g.op_b), cublas_op(g.op_a), narrow<int>(g.c.cols),
                          narrow<int>(g.c.rows), narrow<int>(g.k()), &g.alpha, g.b.data,
                          data_type<T>, ld_of(g.b), g.a.data, data_type<T>, ld_of(g.a), &g.beta,
                          g.c.data, CUDA_R_32F, ld_of(g.c), compute, CUBLAS_GEMM_DEFAULT),
        "cublasGemmEx");
}

template void cublas(const Gemm<float>&, const Tuning&, DeviceStream);
template void cublas(const Gemm<double>&, const Tuning&, DeviceStream);
template void cublas_mixed(const MixedGemm<__nv_bfloat16>&, DeviceStream);
template void cublas_mixed(const MixedGemm<__half>&, DeviceStream);
template void cublas_mixed(const MixedGemm<float>&, DeviceStream);

}  // namespace tessera::inline v1::matmul
