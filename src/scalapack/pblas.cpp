// p?gemm and p?tran*: their arguments are checked as the PBLAS do, then handed to the product and
// the relayout of column-major block-cyclic matrices.

#include <complex>
#include <string>

#include "base/foreign.hpp"
#include "dist/matmul/laid_out.hpp"
#include "dist/relayout/relayout.hpp"
#include "scalapack/arguments.hpp"
#include "scalapack/tessera_scalapack.h"

namespace tessera::inline v1::scalapack {
namespace {

using dist::relayout::LocalArray;
using dist::relayout::Op;
using dist::relayout::Relayout;
using dist::relayout::StorageOrder;

/// A matrix argument: the local array and the submatrix.
template <class T>
struct Argument {
  T* local;
  Matrix matrix;
};

[[nodiscard]] Op op_of(char letter) {
  if (letter == 'T' || letter == 't') return Op::transpose;
  return letter == 'C' || letter == 'c' ? Op::hermitian : Op::none;
}

template <class T>
[[nodiscard]] const Own<T>& own(const T& x) {
  return reinterpret_cast<const Own<T>&>(x);
}

template <class T>
[[nodiscard]] auto laid_out(const Argument<T>& x, index_t rows, index_t cols,
                            const mpi::BlacsGrid& grid) {
  using Element = std::conditional_t<std::is_const_v<T>, const Own<std::remove_const_t<T>>,
                                     Own<std::remove_const_t<T>>>;
  return dist::matmul::LaidOut<Element>{x.matrix.distribution(rows, cols, grid),
                                        {reinterpret_cast<Element*>(x.local), x.matrix.lld},
                                        StorageOrder::column_major};
}

/// Sizes of a product.
struct Extents {
  int m, n, k;
};

template <class T>
struct GemmCall {
  const char* name;
  char op_a, op_b;
  Extents size;
  T alpha;
  Argument<const T> a, b;
  T beta;
  Argument<T> c;
};

template <class T>
void gemm(const GemmCall<T>& call) {
  const auto& [m, n, k] = call.size;
  const int context = call.a.matrix.context;
  Arguments arguments(call.name, context, 10);
  arguments.check_op(call.op_a, 1, "TRANSA");
  arguments.check_op(call.op_b, 2, "TRANSB");
  const Op op_a = op_of(call.op_a), op_b = op_of(call.op_b);
  const auto stored = [](Op op, int rows, int cols) {
    return turns(op) ? std::pair(cols, rows) : std::pair(rows, cols);
  };
  const auto [a_rows, a_cols] = stored(op_a, m, k);
  const auto [b_rows, b_cols] = stored(op_b, k, n);
  constexpr int m_at = 3, n_at = 4, k_at = 5;
  const auto [a_rows_at, a_cols_at] = stored(op_a, m_at, k_at);
  const auto [b_rows_at, b_cols_at] = stored(op_b, k_at, n_at);
  arguments.check("A", a_rows, a_cols, call.a.matrix, {a_rows_at, a_cols_at, 10});
  arguments.check("B", b_rows, b_cols, call.b.matrix, {b_rows_at, b_cols_at, 14});
  arguments.check("C", m, n, call.c.matrix, {m_at, n_at, 19});
  if (!arguments.right() || m == 0 || n == 0) return;
  if ((call.alpha == T{0} || k == 0) && call.beta == T{1}) return;
  const mpi::BlacsGrid& grid = arguments.grid();
  mpi::Phases unused;
  dist::matmul::multiply(
      mpi::blacs_communicator(context),
      dist::matmul::LaidOutProduct<Own<T>>{.alpha = own(call.alpha),
                                           .a = laid_out(call.a, a_rows, a_cols, grid),
                                           .op_a = op_a,
                                           .b = laid_out(call.b, b_rows, b_cols, grid),
                                           .op_b = op_b,
                                           .beta = own(call.beta),
                                           .c = laid_out(call.c, m, n, grid)},
      {}, unused);
}

template <class T>
struct TranCall {
  const char* name;
  Op op;
  int m, n;  ///< of c
  T alpha;
  Argument<const T> a;
  T beta;
  Argument<T> c;
};

template <class T>
void tran(const TranCall<T>& call) {
  const int m = call.m, n = call.n, context = call.a.matrix.context;
  Arguments arguments(call.name, context, 7);
  arguments.check("A", n, m, call.a.matrix, {2, 1, 7});
  arguments.check("C", m, n, call.c.matrix, {1, 2, 12});
  if (!arguments.right() || m == 0 || n == 0) return;
  if (call.alpha == T{0} && call.beta == T{1}) return;
  const mpi::BlacsGrid& grid = arguments.grid();
  const Relayout matrix{call.a.matrix.distribution(n, m, grid), call.op,
                        call.c.matrix.distribution(m, n, grid), StorageOrder::column_major,
                        StorageOrder::column_major};
  const LocalArray<const T> from{call.a.local, call.a.matrix.lld};
  const LocalArray<T> to{call.c.local, call.c.matrix.lld};
  const dist::relayout::Memory<T> memory{std::span(&from, 1), std::span(&to, 1), call.alpha,
                                         call.beta};
  dist::relayout::Plan plan(mpi::blacs_communicator(context), std::span(&matrix, 1),
                            static_cast<index_t>(sizeof(T)));
  plan.execute(std::span(&memory, 1));
}

template <class T>
const T& value(const void* x) {
  return *static_cast<const T*>(x);
}

}  // namespace
}  // namespace tessera::inline v1::scalapack

using namespace tessera::scalapack;  // NOLINT: only the entries follow

#define TESSERA_GEMM(name, NAME, T)                                                           \
  void name(const char* transa, const char* transb, const int* m, const int* n, const int* k, \
            const void* alpha, const void* a, const int* ia, const int* ja, const int* desca, \
            const void* b, const int* ib, const int* jb, const int* descb, const void* beta,  \
            void* c, const int* ic, const int* jc, const int* descc) {                        \
    guarded(NAME, desca[1], [&] {                                                             \
      gemm<T>({NAME,                                                                          \
               *transa,                                                                       \
               *transb,                                                                       \
               {*m, *n, *k},                                                                  \
               value<T>(alpha),                                                               \
               {static_cast<const T*>(a), Matrix(*ia, *ja, desca)},                           \
               {static_cast<const T*>(b), Matrix(*ib, *jb, descb)},                           \
               value<T>(beta),                                                                \
               {static_cast<T*>(c), Matrix(*ic, *jc, descc)}});                               \
    });                                                                                       \
  }

#define TESSERA_TRAN(name, NAME, T, op)                                                  \
  void name(const int* m, const int* n, const void* alpha, const void* a, const int* ia, \
            const int* ja, const int* desca, const void* beta, void* c, const int* ic,   \
            const int* jc, const int* descc) {                                           \
    guarded(NAME, desca[1], [&] {                                                        \
      tran<T>({NAME,                                                                     \
               op,                                                                       \
               *m,                                                                       \
               *n,                                                                       \
               value<T>(alpha),                                                          \
               {static_cast<const T*>(a), Matrix(*ia, *ja, desca)},                      \
               value<T>(beta),                                                           \
               {static_cast<T*>(c), Matrix(*ic, *jc, descc)}});                          \
    });                                                                                  \
  }

TESSERA_GEMM(psgemm_, "PSGEMM", float)
TESSERA_GEMM(pdgemm_, "PDGEMM", double)
TESSERA_GEMM(pcgemm_, "PCGEMM", std::complex<float>)
TESSERA_GEMM(pzgemm_, "PZGEMM", std::complex<double>)
TESSERA_TRAN(pstran_, "PSTRAN", float, Op::transpose)
TESSERA_TRAN(pdtran_, "PDTRAN", double, Op::transpose)
TESSERA_TRAN(pctranu_, "PCTRANU", std::complex<float>, Op::transpose)
TESSERA_TRAN(pztranu_, "PZTRANU", std::complex<double>, Op::transpose)
TESSERA_TRAN(pctranc_, "PCTRANC", std::complex<float>, Op::hermitian)
TESSERA_TRAN(pztranc_, "PZTRANC", std::complex<double>, Op::hermitian)
