// Products on one process. The product of matrices whose columns are contiguous is that of their
// transposes in the other order.

#include "c/arguments.hpp"
#include "c/gpu.hpp"
#include "c/options.hpp"
#include "kernels/matmul/cache_oblivious.hpp"
#include "kernels/matmul/variants.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::c {
namespace {

struct LocalOperand {
  const char* name;
  const void* data;
  index_t ld;
  matmul::Op op;
  Shape shape;
};

LocalOperand operand(const char* name, const void* data, index_t ld, matmul::Op op,
                     const Shape& shape) {
  const bool turned = matmul::turns(op);
  return {name,
          data,
          ld,
          op,
          {turned ? shape.cols : shape.rows, turned ? shape.rows : shape.cols, shape.storage}};
}

/// Multiplies matrices in the memory of the current GPU.
template <class T>
void multiply_on_gpu(const matmul::Gemm<T>& g) {
  if (g.c.empty()) return;
  const auto kernel = matmul::best_device()->on_device.of<T>();
  machine::device::call([&](matmul::DeviceStream stream) { kernel(g, {}, stream); });
}

template <class T>
void multiply(matmul::Gemm<T> g, const char* options) {
  if (options == nullptr || *options == '\0') {
    const int owned = machine::default_threads();
    const int team = matmul::useful_threads<T>(g.m(), g.n(), g.k(), owned);
    return machine::parallel(team, [&] { matmul::cache_oblivious(g); });
  }
  const Options asked(options, {"threads", "kernel", "gpu"});
  if constexpr (is_stored_half<T>) {
    expect(!uses_gpu(asked), "options", "has gpu, which does not multiply {}", name_of_half<T>);
  } else if (uses_gpu(asked)) {
    return multiply_on_gpu(g);
  }
  const matmul::Variant* const kernel = kernel_of(matmul::variants(), asked);
  const int team =
      matmul::useful_threads<T>(g.m(), g.n(), g.k(), asked.threads(machine::default_threads()));
  expect(kernel == nullptr || kernel->multiplies<T>(), "options",
         "has kernel={}, which does not multiply {}", asked.text("kernel"),
         is_complex<T> ? "complex numbers" : name_of_half<T>);
  machine::parallel(team, [&] { (kernel == nullptr ? matmul::best() : *kernel)(g); });
}

template <class T>
void product(const LocalOperand& a, const LocalOperand& b, const Factors& factors, void* c,
             index_t ldc, const Shape& shape, const char* options) {
  constexpr auto size = static_cast<index_t>(sizeof(T));
  const Extent written = extent_of(c, ldc, shape, size);
  for (const LocalOperand* x : {&a, &b}) {
    expect_matrix(x->name, x->data, x->ld, x->shape, size);
    refuse_overlap("c", written, x->name, extent_of(x->data, x->ld, x->shape, size));
  }
  expect_matrix("c", c, ldc, shape, size);
  const bool swapped = shape.storage == Storage::columns;
  const LocalOperand &left = swapped ? b : a, &right = swapped ? a : b;
  multiply(matmul::Gemm<T>{.alpha = factor_of<Factor<T>>(factors.alpha, 1),
                           .a = view_of<T>(left.data, left.ld, left.shape),
                           .op_a = left.op,
                           .b = view_of<T>(right.data, right.ld, right.shape),
                           .op_b = right.op,
                           .beta = factor_of<Factor<T>>(factors.beta, 0),
                           .c = view_of<T>(c, ldc, shape)},
           options);
}

}  // namespace
}  // namespace tessera::inline v1::c

int tessera_matmul(int order, int type, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
                   const void* alpha, const void* a, int64_t lda, const void* b, int64_t ldb,
                   const void* beta, void* c, int64_t ldc, const char* options) {
  using namespace tessera::c;
  return guarded([&] {
    const Storage storage = storage_of(order);
    expect_extent(m, "m");
    expect_extent(n, "n");
    expect_extent(k, "k");
    const LocalOperand left = operand("a", a, lda, op_of(op_a, "op_a"), {m, k, storage});
    const LocalOperand right = operand("b", b, ldb, op_of(op_b, "op_b"), {k, n, storage});
    dispatch_factor(type, [&](auto t) {
      product<typename decltype(t)::type>(left, right, {alpha, beta}, c, ldc, {m, n, storage},
                                          options);
    });
  });
}
