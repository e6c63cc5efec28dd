// The variant of OpenBLAS (cblas_?gemm), loaded at run time.

#include "kernels/matmul/blas.hpp"

#include <dlfcn.h>
#include <fmt/core.h>
#include <sys/resource.h>

#include <cstdlib>
#include <string>

#include "base/option_names.hpp"
#include "base/text.hpp"
#include "kernels/matmul/operand.hpp"
#include "machine/environment.hpp"
#include "machine/fork_join.hpp"
#include "machine/loaded.hpp"
#include "machine/topology.hpp"

namespace tessera::inline v1::matmul {
namespace {

// The subset of the CBLAS interface (BLAS Technical Forum 2001) that this file calls.
enum Order : int { row_major = 101 };
enum Transpose : int { no_transpose = 111, transpose = 112, conjugate_transpose = 113 };
template <class T, class Scalar>
using Multiply = void (*)(Order, Transpose, Transpose, int m, int n, int k, Scalar alpha,
                          const T* a, int lda, const T* b, int ldb, Scalar beta, T* c, int ldc);

struct Library {
  std::string missing;
  void (*set_threads)(int) = nullptr;
  Multiply<float, float> sgemm = nullptr;
  Multiply<double, double> dgemm = nullptr;
  Multiply<Complex<float>, const Complex<float>*> cgemm = nullptr;
  Multiply<Complex<double>, const Complex<double>*> zgemm = nullptr;
};

/// Throws Error(memory) if the address space is too small for the library's buffers: OpenBLAS
/// retries a failed allocation forever.
void require_address_space(int threads) {
  constexpr index_t thread_bytes = index_t{160} << 20;  // 128 MiB of buffer and a stack
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const index_t free = machine::available_memory();  // respects the limit
  require(free >= (threads + 1) * thread_bytes, ExitCode::memory,
          fmt::format(
              "OpenBLAS needs {} of address space for {}: {} are free (ulimit -v); run ulimit -v "
              "unlimited, or use another {}",
              human_bytes((threads + 1) * thread_bytes), counted(threads, "thread"),
              human_bytes(free), option_or("--kernel", "kernel")));
}

/// Returns the number of threads that the library is to start at load: OPENBLAS_NUM_THREADS, or one
/// per core.
int threads_at_start() {
  const char* const wanted = std::getenv("OPENBLAS_NUM_THREADS");
  const int threads = wanted != nullptr ? std::atoi(wanted) : 0;
  return threads > 0 ? threads : machine::default_threads();
}

Library load() {
  Library found;
  const int threads = threads_at_start();
  require_address_space(threads);
  const machine::EnvironmentScope read_at_load("OPENBLAS_NUM_THREADS", std::to_string(threads));
  void* file = nullptr;
  for (const char* const name : {"libopenblas.so.0", "libopenblas.so"}) {
    if (file == nullptr) file = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (file == nullptr) {
    const char* const why = dlerror();
    found.missing = why != nullptr ? why : "libopenblas.so cannot be loaded";
    return found;
  }
  machine::find_function(file, "openblas_set_num_threads", found.set_threads, found.missing);
  machine::find_function(file, "cblas_sgemm", found.sgemm, found.missing);
  machine::find_function(file, "cblas_dgemm", found.dgemm, found.missing);
  machine::find_function(file, "cblas_cgemm", found.cgemm, found.missing);
  machine::find_function(file, "cblas_zgemm", found.zgemm, found.missing);
  return found;
}

const Library& library() {
  static const Library found = load();
  return found;
}

Transpose cblas_op(Op op) {
  return op == Op::none ? no_transpose : op == Op::transpose ? transpose : conjugate_transpose;
}

/// Sizes and leading dimensions of a product, as the library takes them.
struct Sizes {
  int m, n, k, lda, ldb, ldc;
};

void call(const Sizes& s, const Gemm<float>& g) {
  library().sgemm(row_major, cblas_op(g.op_a), cblas_op(g.op_b), s.m, s.n, s.k, g.alpha, g.a.data,
                  s.lda, g.b.data, s.ldb, g.beta, g.c.data, s.ldc);
}
void call(const Sizes& s, const Gemm<double>& g) {
  library().dgemm(row_major, cblas_op(g.op_a), cblas_op(g.op_b), s.m, s.n, s.k, g.alpha, g.a.data,
                  s.lda, g.b.data, s.ldb, g.beta, g.c.data, s.ldc);
}
void call(const Sizes& s, const Gemm<Complex<float>>& g) {
  library().cgemm(row_major, cblas_op(g.op_a), cblas_op(g.op_b), s.m, s.n, s.k, &g.alpha, g.a.data,
                  s.lda, g.b.data, s.ldb, &g.beta, g.c.data, s.ldc);
}
void call(const Sizes& s, const Gemm<Complex<double>>& g) {
  library().zgemm(row_major, cblas_op(g.op_a), cblas_op(g.op_b), s.m, s.n, s.k, &g.alpha, g.a.data,
                  s.lda, g.b.data, s.ldb, &g.beta, g.c.data, s.ldc);
}

template <class T>
void blas(const Gemm<T>& g, const Tuning&) {
  library().set_threads(machine::default_threads());
  if (only_scales(g) || g.c.empty()) return scale(g.c, g.beta);
  call({narrow<int>(g.m()), narrow<int>(g.n()), narrow<int>(g.k()), narrow<int>(g.a.ld),
        narrow<int>(g.b.ld), narrow<int>(g.c.ld)},
       g);
}

}  // namespace

const std::string& blas_missing() { return library().missing; }

Variant blas_row() {
  return {{"blas", Space::host, "OpenBLAS, loaded on demand, with separate threads", blas_missing,
           "apt-get install libopenblas0"},
          blas<float>,
          blas<double>,
          {},
          blas<Complex<float>>,
          blas<Complex<double>>};
}

}  // namespace tessera::inline v1::matmul
