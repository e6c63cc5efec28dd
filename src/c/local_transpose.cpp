// Transposes on one process: of the memory in rows, whatever the order.

#include <algorithm>
#include <complex>

#include "c/arguments.hpp"
#include "c/gpu.hpp"
#include "c/options.hpp"
#include "kernels/transpose/update.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::c {
namespace {

namespace kernels = tessera::transpose;

struct Matrix {
  const void* data;
  index_t ld;
  Shape shape;
};
struct Result {
  void* data;
  index_t ld;
  Shape shape;
};
struct Scale {
  double alpha, beta;
  kernels::Conjugate conjugate;
};

/// Calls f(a, b) with the matrices as records of their elements.
template <class F>
void with_records(const Matrix& a, const Result& b, index_t bytes, const F& f) {
  f(kernels::ConstRecords{static_cast<const std::byte*>(a.data), a.shape.outer(), a.shape.inner(),
                          a.ld, bytes},
    kernels::Records{static_cast<std::byte*>(b.data), b.shape.outer(), b.shape.inner(), b.ld,
                     bytes});
}

void move(const Matrix& a, const Result& b, index_t bytes, const kernels::Tuning& tuning,
          const kernels::Variant* kernel) {
  with_records(a, b, bytes, [&](const auto& from, const auto& to) {
    (kernel == nullptr ? kernels::best(from, to) : *kernel).out_of_place(from, to, tuning);
  });
}

void move_on_gpu(const Matrix& a, const Result& b, index_t bytes) {
  with_records(a, b, bytes, [](const auto& from, const auto& to) {
    machine::device::call([&](kernels::DeviceStream stream) {
      kernels::best_device()->on_device(from, to, {}, stream);
    });
  });
}

template <class T>
void update(const Matrix& a, const Result& b, const Scale& scale, const kernels::Tuning& tuning) {
  kernels::update(kernels::Update<T>{.alpha = static_cast<kernels::Real<T>>(scale.alpha),
                                     .a = view_of<T>(a.data, a.ld, a.shape),
                                     .beta = static_cast<kernels::Real<T>>(scale.beta),
                                     .b = view_of<T>(b.data, b.ld, b.shape),
                                     .conjugate = scale.conjugate},
                  tuning);
}

void transpose(int type, const Matrix& a, const Result& b, const Scale& scale,
               const char* options) {
  const index_t bytes = bytes_of(type);
  expect_matrix("a", a.data, a.ld, a.shape, bytes);
  expect_matrix("b", b.data, b.ld, b.shape, bytes);
  refuse_overlap("b", extent_of(b.data, b.ld, b.shape, bytes), "a",
                 extent_of(a.data, a.ld, a.shape, bytes));
  const Options asked(options, {"threads", "kernel", "gpu"});
  const bool on_gpu = uses_gpu(asked);
  const kernels::Variant* const kernel = kernel_of(kernels::variants(), asked);
  expect(kernel == nullptr || kernel->out_of_place != nullptr, "options",
         "has kernel={}, which transposes in place only", asked.text("kernel"));
  constexpr index_t bytes_of_thread = 1 << 17;  // waking a thread takes as long as copying these
  const kernels::Tuning tuning{.threads = static_cast<int>(std::clamp<index_t>(
                                   a.shape.rows * a.shape.cols * bytes / bytes_of_thread, 1,
                                   asked.threads(machine::default_threads())))};
  if (a.shape.rows == 0 || a.shape.cols == 0) return;
  const bool conjugates =
      scale.conjugate == kernels::Conjugate::yes && (type == TESSERA_C64 || type == TESSERA_C128);
  const bool moves = scale.alpha == 1 && scale.beta == 0 && !conjugates;
  expect(moves || !on_gpu, "options", "has gpu={}, where transposes only move elements",
         asked.text("gpu"));
  if (on_gpu) return move_on_gpu(a, b, bytes);
  if (moves) return move(a, b, bytes, tuning, kernel);
  dispatch_number(type, [&](auto t) {
    using T = typename decltype(t)::type;
    if constexpr (is_complex<T>)
      update<std::complex<Real<T>>>(a, b, scale, tuning);
    else
      update<T>(a, b, scale, tuning);
  });
}

}  // namespace
}  // namespace tessera::inline v1::c

int tessera_transpose(int order, int type, int op, int64_t m, int64_t n, double alpha,
                      const void* a, int64_t lda, double beta, void* b, int64_t ldb,
                      const char* options) {
  using namespace tessera::c;
  return guarded([&] {
    const Storage storage = storage_of(order);
    expect(op == TESSERA_TRANS || op == TESSERA_CONJ_TRANS, "op",
           "is {}: must be TESSERA_TRANS or TESSERA_CONJ_TRANS", op);
    expect_extent(m, "m");
    expect_extent(n, "n");
    transpose(
        type, {a, lda, {m, n, storage}}, {b, ldb, {n, m, storage}},
        {alpha, beta, op == TESSERA_CONJ_TRANS ? kernels::Conjugate::yes : kernels::Conjugate::no},
        options);
  });
}
