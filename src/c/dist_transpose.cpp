// Transposes and redistributions of distributed matrices: of the memory in rows, whatever the
// order.

#include <bit>

#include "c/context.hpp"
#include "c/moves.hpp"
#include "c/options.hpp"
#include "dist/transpose/transpose.hpp"
#include "mpi/transfer.hpp"

namespace tessera::inline v1::c {
namespace {

namespace transposes = dist::transpose;

/// The memory of a matrix as bytes: rows of ld elements.
template <class Byte>
MatrixView<Byte> bytes_view(const Home& home, Byte* data, index_t bytes) {
  return {data, home.shape.outer(), home.shape.inner() * bytes, home.ld * bytes};
}

struct Source {
  Home home;
  const std::byte* data;
};
struct Target {
  Home home;
  std::byte* data;
};

void expect_pair(const Source& a, const Target& b, int op, index_t bytes) {
  const bool turns = op != TESSERA_NO_TRANS;
  expect_shape(b.home, turns ? a.home.cols() : a.home.rows(), turns ? a.home.rows() : a.home.cols(),
               turns ? "the transpose of a" : "as a");
  expect_memory(a.home, a.data, bytes);
  expect_memory(b.home, b.data, bytes);
  refuse_overlap("b", extent_of(b.home, b.data, bytes), "a", extent_of(a.home, a.data, bytes));
}

dist::DistributedRecords records_of(const Context& context, const Home& home, std::byte* data,
                                    index_t bytes, bool is_read) {
  if (home.is_dense()) return {context.comm, home.boxes(), bytes, data};
  dist::DistributedRecords copy(context.comm, home.boxes(), bytes);
  if (is_read)
    mpi::copy_block<std::byte>(bytes_view(home, data, bytes), transpose::in_bytes(copy.view()));
  return copy;
}

transposes::Number number_of(int type) {
  switch (type) {
    case TESSERA_F32:
      return transposes::Number::f32;
    case TESSERA_F64:
      return transposes::Number::f64;
    case TESSERA_C64:
      return transposes::Number::c64;
    case TESSERA_C128:
      return transposes::Number::c128;
    default:
      return transposes::Number::opaque;
  }
}

transposes::Scale scale_of(int type, int op, double alpha, double beta) {
  const transposes::Number number = number_of(type);
  const bool is_complex = type == TESSERA_C64 || type == TESSERA_C128;
  const transposes::Scale scale{number, alpha, beta,
                                op == TESSERA_CONJ_TRANS && is_complex ? transpose::Conjugate::yes
                                                                       : transpose::Conjugate::no};
  expect(scale.plain() || number != transposes::Number::opaque, "type",
         "is {}: must be TESSERA_F32, F64, C64 or C128 unless alpha is 1 and beta is 0",
         type_text(type));
  return scale;
}

transposes::Method transpose_method(const Context& context, const Options& options) {
  transposes::Method method;
  method.algorithm = algorithm_of(transposes::algorithms(), options, method.algorithm);
  expect(method.algorithm != transposes::Algorithm::shared, "options",
         "has algorithm=shared, which needs memory that ranks share");
  method.kernel = kernel_of(transpose::variants(), options);
  method.tuning.threads = options.threads(context.threads);
  return method;
}

struct RealFactors {
  double alpha, beta;
};
template <class T>
void relay_out(const Context& context, matmul::Op op, const RealFactors& factors, const Source& a,
               const Target& b, int threads) {
  namespace relayouts = dist::relayout;
  const relayouts::Relayout matrix{a.home.layout->parts, op, b.home.layout->parts, a.home.order(),
                                   b.home.order()};
  const relayouts::LocalArray<const T> from{reinterpret_cast<const T*>(a.data), a.home.ld};
  const relayouts::LocalArray<T> to{reinterpret_cast<T*>(b.data), b.home.ld};
  using Factor = typename relayouts::Memory<T>::Factor;
  const auto factor = [](double x) { return Factor(static_cast<Real<Factor>>(x)); };
  const relayouts::Memory<T> memory{std::span(&from, 1), std::span(&to, 1), factor(factors.alpha),
                                    factor(factors.beta)};
  relayouts::relayout<T>(context.comm, matrix, memory, threads);
}

/// Computes b = alpha op(a) + beta b for matrices of which one is block-cyclic.
void relay_out(const Context& context, int type, int op, const RealFactors& factors,
               const Source& a, const Target& b, int threads) {
  const matmul::Op how = op_of(op, "op");
  const auto relay = [&]<class T>(Type<T>) { relay_out<T>(context, how, factors, a, b, threads); };
  dispatch_moved(type, relay);
}

}  // namespace
}  // namespace tessera::inline v1::c

int tessera_dist_transpose(tessera_context context, int order, int type, int op, double alpha,
                           tessera_layout layout_a, const void* a, int64_t lda, double beta,
                           tessera_layout layout_b, void* b, int64_t ldb, const char* options) {
  using namespace tessera;
  using namespace tessera::c;
  return guarded([&] {
    const auto on = context_of(context);
    Source from{{}, static_cast<const std::byte*>(a)};
    Target to{{}, static_cast<std::byte*>(b)};
    index_t bytes = 0;
    transposes::Scale scale;
    transposes::Method method;
    bool is_boxes = true;
    agree(*on, [&](Fingerprint& same) {
      same.add(order).add(type).add(op).add(options);
      same.add(std::bit_cast<index_t>(alpha)).add(std::bit_cast<index_t>(beta));
      const Storage storage = storage_of(order);
      bytes = bytes_of(type);
      [[maybe_unused]] const matmul::Op checked = op_of(op, "op");
      from.home = home_of(*on, "a", storage, layout_a, lda);
      to.home = home_of(*on, "b", storage, layout_b, ldb);
      expect_pair(from, to, op, bytes);
      scale = scale_of(type, op, alpha, beta);
      same.add(from.home.rows()).add(from.home.cols());
      same.add(to.home.rows()).add(to.home.cols());
      is_boxes = from.home.is_boxes() && to.home.is_boxes();
      if (is_boxes) {
        method = transpose_method(*on, Options(options, {"threads", "kernel", "algorithm"}));
      } else {
        expect_word(bytes, "a block-cyclic layout");
        method.tuning.threads = Options(options, {"threads"}).threads(on->threads);
      }
    });
    if (!is_boxes) return relay_out(*on, type, op, {alpha, beta}, from, to, method.tuning.threads);
    const auto source =
        records_of(*on, from.home, const_cast<std::byte*>(from.data), bytes, alpha != 0);
    auto result = records_of(*on, to.home, to.data, bytes, beta != 0);
    transposes::transpose_matrix(
        on->comm,
        {.a = source,
         .op = op == TESSERA_NO_TRANS ? transpose::Op::none : transpose::Op::transpose,
         .b = result,
         .scale = scale},
        method);
    if (!to.home.is_dense()) {
      mpi::copy_block<std::byte>(transpose::in_bytes(std::as_const(result).view()),
                                 bytes_view(to.home, to.data, bytes));
    }
  });
}

int tessera_redistribute(tessera_context context, int order, int type, tessera_layout layout_a,
                         const void* a, int64_t lda, tessera_layout layout_b, void* b,
                         int64_t ldb) {
  using namespace tessera;
  using namespace tessera::c;
  return guarded([&] {
    const auto on = context_of(context);
    Source from{{}, static_cast<const std::byte*>(a)};
    Target to{{}, static_cast<std::byte*>(b)};
    index_t bytes = 0;
    bool is_boxes = true;
    agree(*on, [&](Fingerprint& same) {
      same.add(order).add(type);
      const Storage storage = storage_of(order);
      bytes = bytes_of(type);
      from.home = home_of(*on, "a", storage, layout_a, lda);
      to.home = home_of(*on, "b", storage, layout_b, ldb);
      expect_pair(from, to, TESSERA_NO_TRANS, bytes);
      same.add(from.home.rows()).add(from.home.cols());
      is_boxes = from.home.is_boxes() && to.home.is_boxes();
      if (!is_boxes) expect_word(bytes, "a block-cyclic layout");
    });
    if (!is_boxes) return relay_out(*on, type, TESSERA_NO_TRANS, {1, 0}, from, to, on->threads);
    mpi::redistribute<std::byte>(on->comm, layout::in_bytes(from.home.boxes(), bytes),
                                 bytes_view(from.home, from.data, bytes),
                                 layout::in_bytes(to.home.boxes(), bytes),
                                 bytes_view(to.home, to.data, bytes));
  });
}
