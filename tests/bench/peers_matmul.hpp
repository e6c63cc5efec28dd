#pragma once
// BLAS libraries loaded in separate name spaces, each with its best kernels for this processor.

#include <dlfcn.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "kernels/matmul/gemm.hpp"
#include "machine/isa.hpp"

namespace tessera::bench {

struct Blas {
  using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int,
                         float, float*, int);
  using Dgemm = void (*)(int, int, int, int, int, int, double, const double*, int, const double*,
                         int, double, double*, int);

  /// Type of both complex products, whose factors are passed by address.
  using Zgemm = void (*)(int, int, int, int, int, int, const void*, const void*, int, const void*,
                         int, const void*, void*, int);

  std::string name;
  std::string kernels;  ///< reported by the library
  Sgemm sgemm = nullptr;
  Dgemm dgemm = nullptr;
  Zgemm cgemm = nullptr, zgemm = nullptr;
  void (*set_threads)(long) = nullptr;
  long (*get_threads)() = nullptr;

  void operator()(const matmul::Gemm<float>& g) const { call(sgemm, g); }
  void operator()(const matmul::Gemm<double>& g) const { call(dgemm, g); }
  void operator()(const matmul::Gemm<Complex<float>>& g) const { call(cgemm, g); }
  void operator()(const matmul::Gemm<Complex<double>>& g) const { call(zgemm, g); }

 private:
  template <class F, class T>
  static void call(F gemm, const matmul::Gemm<T>& g) {
    constexpr int row_major = 101;
    const auto op = [](matmul::Op o) { return 111 + static_cast<int>(o); };
    const auto factor = [](const T& x) {
      if constexpr (is_complex<T>) {
        return static_cast<const void*>(&x);
      } else {
        return x;
      }
    };
    gemm(row_major, op(g.op_a), op(g.op_b), narrow<int>(g.m()), narrow<int>(g.n()),
         narrow<int>(g.k()), factor(g.alpha), g.a.data, narrow<int>(g.a.ld), g.b.data,
         narrow<int>(g.b.ld), factor(g.beta), g.c.data, narrow<int>(g.c.ld));
  }
};

/// Neither library recognises processors newer than itself, and the environment may pin an old one:
/// both then run kernels without AVX-512, which are not comparable. This sets the variables that
/// select the AVX-512 kernels if the processor has them; BENCH_OPENBLAS_CORETYPE and
/// BENCH_BLIS_ARCH_TYPE select others. The libraries read them when loaded, before main: hence the
/// re-execution.
inline void choose_kernels_of_peers(char** argv) {
  if (machine::isa() != machine::Isa::bits512 || std::getenv("TESSERA_BENCH_AGAIN") != nullptr)
    return;
  const auto choose = [](const char* variable, const char* wish, const char* usual) {
    const char* const wanted = std::getenv(wish);
    setenv(variable, wanted != nullptr ? wanted : usual, 1);
  };
  choose("OPENBLAS_CORETYPE", "BENCH_OPENBLAS_CORETYPE", "Cooperlake");
  choose("BLIS_ARCH_TYPE", "BENCH_BLIS_ARCH_TYPE", "0");  // 0.9 requires a number; 0 is skx
  unsetenv("OPENBLAS_L2_SIZE");
  setenv("TESSERA_BENCH_AGAIN", "1", 1);
  execv("/proc/self/exe", argv);
}

template <class F>
F symbol(void* library, const char* name) {
  return reinterpret_cast<F>(dlsym(library, name));
}

/// DEEPBIND: the library must resolve names exported by several libraries to its own.
inline void* open_library(const std::string& path) {
  void* library =
      path.empty() ? nullptr : dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (library == nullptr)
    fmt::print("peer {} is not here ({})\n", path, path.empty() ? "not found" : dlerror());
  return library;
}

inline std::vector<Blas> peers() {
  std::vector<Blas> found;
  if (void* library = open_library(BENCH_OPENBLAS)) {
    Blas blas{.name = "OpenBLAS",
              .kernels = symbol<char* (*)()>(library, "openblas_get_corename")()};
    blas.set_threads = symbol<void (*)(long)>(library, "openblas_set_num_threads");
    blas.get_threads = symbol<long (*)()>(library, "openblas_get_num_threads");
    found.push_back(blas);
    found.back().sgemm = symbol<Blas::Sgemm>(library, "cblas_sgemm");
    found.back().dgemm = symbol<Blas::Dgemm>(library, "cblas_dgemm");
    found.back().cgemm = symbol<Blas::Zgemm>(library, "cblas_cgemm");
    found.back().zgemm = symbol<Blas::Zgemm>(library, "cblas_zgemm");
  }
  if (void* library = open_library(BENCH_BLIS)) {
    symbol<void (*)()>(library, "bli_init")();
    const int arch = symbol<int (*)()>(library, "bli_arch_query_id")();
    Blas blas{.name = "BLIS", .kernels = symbol<char* (*)(int)>(library, "bli_arch_string")(arch)};
    blas.set_threads = symbol<void (*)(long)>(library, "bli_thread_set_num_threads");
    blas.get_threads = symbol<long (*)()>(library, "bli_thread_get_num_threads");
    found.push_back(blas);
    found.back().sgemm = symbol<Blas::Sgemm>(library, "cblas_sgemm");
    found.back().dgemm = symbol<Blas::Dgemm>(library, "cblas_dgemm");
    found.back().cgemm = symbol<Blas::Zgemm>(library, "cblas_cgemm");
    found.back().zgemm = symbol<Blas::Zgemm>(library, "cblas_zgemm");
  }
  return found;
}

}  // namespace tessera::bench
