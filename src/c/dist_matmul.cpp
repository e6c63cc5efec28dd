// Products of distributed matrices, in the caller's memory where rows follow each other without
// gaps. The product of columns is that of the transposed matrices in the other order.

#include "c/products.hpp"
#include "dist/matmul/laid_out.hpp"
#include "dist/matmul/multiply.hpp"
#include "mpi/transfer.hpp"

namespace tessera::inline v1::c {

void expect_product(const Operand& a, const Operand& b, const Home& c) {
  const bool turned = matmul::turns(b.op);
  const index_t k = matmul::turns(a.op) ? a.home.rows() : a.home.cols();
  const index_t m = matmul::turns(a.op) ? a.home.cols() : a.home.rows();
  const index_t n = turned ? b.home.rows() : b.home.cols();
  expect_shape(b.home, turned ? n : k, turned ? k : n, "as op(a) has it");
  expect_shape(c, m, n, "as op(a) op(b)");
}

namespace {

namespace products = dist::matmul;

/// Returns the matrix in the caller's memory, or a copy of it if its rows have gaps.
template <class T>
dist::DistributedMatrix<T> matrix_of(const Context& context, const Home& home, const void* data,
                                     bool is_read) {
  if (home.is_dense()) {
    return {context.comm, home.boxes(), static_cast<T*>(const_cast<void*>(data))};
  }
  dist::DistributedMatrix<T> copy(context.comm, home.boxes());
  if (is_read) mpi::copy_block<T>(view_of<T>(data, home.ld, home.shape), copy.view());
  return copy;
}

products::Method product_method(const Context& context, const Options& options) {
  products::Method method;
  method.algorithm = algorithm_of(products::algorithms(), options, method.algorithm);
  method.kernel = kernel_of(matmul::variants(), options);
  method.threads = options.threads(context.threads);
  constexpr index_t most = index_t{1} << 40;
  method.slices = options.number("slices", 1, most, method.slices);
  method.rounds = options.number("rounds", 1, most, method.rounds);
  method.panel = options.number("panel", 1, most, method.panel);
  return method;
}

/// Options of products of boxes.
constexpr std::initializer_list<const char*> of_boxes{"threads", "kernel", "algorithm",
                                                      "slices",  "rounds", "panel"};

/// Multiplies matrices of which one is block-cyclic.
template <class T>
void multiply_parts(const Context& context, const Operand& a, const Operand& b,
                    const Factors& factors, const Home& c, void* into,
                    const products::Method& method) {
  const auto laid_out = [](const Home& home, auto* data) {
    using Element = std::remove_pointer_t<decltype(data)>;
    return products::LaidOut<Element>{home.layout->parts, {data, home.ld}, home.order()};
  };
  mpi::Phases unused;
  products::multiply(
      context.comm,
      products::LaidOutProduct<T>{.alpha = factor_of<Factor<T>>(factors.alpha, 1),
                                  .a = laid_out(a.home, static_cast<const T*>(a.data)),
                                  .op_a = a.op,
                                  .b = laid_out(b.home, static_cast<const T*>(b.data)),
                                  .op_b = b.op,
                                  .beta = factor_of<Factor<T>>(factors.beta, 0),
                                  .c = laid_out(c, static_cast<T*>(into))},
      method, unused);
}

template <class T>
void multiply(const Context& context, const Operand& a, const Operand& b, const Factors& factors,
              const Home& c, void* into, const products::Method& method) {
  const Factor<T> beta = factor_of<Factor<T>>(factors.beta, 0);
  const auto left = matrix_of<T>(context, a.home, a.data, true);
  const auto right = matrix_of<T>(context, b.home, b.data, true);
  auto result = matrix_of<T>(context, c, into, !(beta == Factor<T>{0}));
  products::multiply(context.comm,
                     products::Product<T>{.alpha = factor_of<Factor<T>>(factors.alpha, 1),
                                          .a = left,
                                          .op_a = a.op,
                                          .b = right,
                                          .op_b = b.op,
                                          .beta = beta,
                                          .c = result},
                     method);
  if (!c.is_dense())
    mpi::copy_block<T>(std::as_const(result).view(), view_of<T>(into, c.ld, c.shape));
}

}  // namespace
}  // namespace tessera::inline v1::c

int tessera_dist_matmul(tessera_context context, int order, int type, int op_a, int op_b,
                        const void* alpha, tessera_layout layout_a, const void* a, int64_t lda,
                        tessera_layout layout_b, const void* b, int64_t ldb, const void* beta,
                        tessera_layout layout_c, void* c, int64_t ldc, const char* options) {
  using namespace tessera;
  using namespace tessera::c;
  return guarded([&] {
    const auto on = context_of(context);
    Operand left{{}, a, {}}, right{{}, b, {}};
    Home result;
    products::Method method;
    bool is_boxes = true;
    agree(*on, [&](Fingerprint& same) {
      same.add(order).add(type).add(op_a).add(op_b).add(options);
      const Storage storage = storage_of(order);
      left.op = op_of(op_a, "op_a");
      right.op = op_of(op_b, "op_b");
      left.home = home_of(*on, "a", storage, layout_a, lda);
      right.home = home_of(*on, "b", storage, layout_b, ldb);
      result = home_of(*on, "c", storage, layout_c, ldc);
      expect_product(left, right, result);
      dispatch_factor(type, [&](auto t) {
        constexpr auto size = static_cast<index_t>(sizeof(typename decltype(t)::type));
        c::expect_memory(result, c, size);
        for (const Operand* x : {&left, &right}) {
          c::expect_memory(x->home, x->data, size);
          refuse_overlap("c", extent_of(result, c, size), x->home.name,
                         extent_of(x->home, x->data, size));
        }
      });
      for (const Home* home : {&left.home, &right.home, &result}) {
        same.add(home->rows()).add(home->cols());
        is_boxes = is_boxes && home->is_boxes();
      }
      method = product_method(
          *on, is_boxes ? Options(options, of_boxes) : Options(options, {"threads", "kernel"}));
    });
    if (is_boxes && order == TESSERA_COL_MAJOR) std::swap(left, right);
    dispatch_factor(type, [&](auto t) {
      using T = typename decltype(t)::type;
      (is_boxes ? multiply<T> : multiply_parts<T>)(*on, left, right, {alpha, beta}, result, c,
                                                   method);
    });
  });
}
