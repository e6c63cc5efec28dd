// Matmul kernels on traced elements.

#include <cmath>

#include "base/random.hpp"
#include "kernels/matmul/column.hpp"
#include "kernels/matmul/naive.hpp"
#include "kernels/matmul/products.hpp"
#include "kernels/matmul/recursive.hpp"
#include "kernels/matmul/tiled.hpp"
#include "kernels/matmul/transposed.hpp"
#include "kernels/matmul/transposed_tiled.hpp"
#include "kernels/matmul/zigzag.hpp"
#include "lab/locality/kernels.hpp"
#include "lab/locality/traced.hpp"

#define TESSERA_DECLARE(isa)                                               \
  namespace tessera::inline v1::isa {                                      \
  const matmul::LeafKernels<locality::Traced<float>>& leaf_kernels_f32();  \
  const matmul::LeafKernels<locality::Traced<double>>& leaf_kernels_f64(); \
  }

TESSERA_DECLARE(traced_baseline)
TESSERA_DECLARE(traced_avx2)
TESSERA_DECLARE(traced_avx512)

namespace tessera::inline v1::matmul {

template <>
const LeafKernels<locality::Traced<float>>& leaf_kernels(machine::Isa isa) {
  return machine::of_isa(isa, traced_baseline::leaf_kernels_f32(), traced_avx2::leaf_kernels_f32(),
                         traced_avx512::leaf_kernels_f32());
}
template <>
const LeafKernels<locality::Traced<double>>& leaf_kernels(machine::Isa isa) {
  return machine::of_isa(isa, traced_baseline::leaf_kernels_f64(), traced_avx2::leaf_kernels_f64(),
                         traced_avx512::leaf_kernels_f64());
}

}  // namespace tessera::inline v1::matmul

namespace tessera::inline v1::locality {
namespace {

template <class T>
void cache_oblivious_row(const matmul::Gemm<T>& g, const matmul::Tuning&) {
  matmul::cache_oblivious(g);
}

template <class T>
struct Operands {
  MatrixView<Traced<T>> a, b, c;
};

/// Allocates a, b and c in this order.
template <class T>
Operands<T> make(Tracer& tracer, const Problem& p) {
  const auto matrix = [&](const char* name, index_t rows, index_t cols) {
    const index_t ld = cols + p.pad;
    return MatrixView<Traced<T>>{tracer.array<T>(name, checked_mul(rows, ld, "size of a matrix")),
                                 rows, cols, ld};
  };
  return {matrix("a", p.m, p.k), matrix("b", p.k, p.n), matrix("c", p.m, p.n)};
}

/// Fills x with small integers, for which every summation order gives the same product.
template <class T>
void fill(MatrixView<Traced<T>> x, std::uint64_t seed) {
  for (index_t i = 0; i < x.rows; ++i) {
    for (index_t j = 0; j < x.cols; ++j)
      x(i, j).raw() = static_cast<T>(hash_at(seed, static_cast<std::uint64_t>(i * x.cols + j)) % 8);
  }
}

/// Compares samples of c with the definition. Throws Error(internal).
template <class T>
void check(const Operands<T>& o, const Problem& p) {
  if (o.c.empty()) return;
  for (std::uint64_t s = 0; s < 64; ++s) {
    const auto i = static_cast<index_t>(mix64(2 * s) % static_cast<std::uint64_t>(p.m));
    const auto j = static_cast<index_t>(mix64(2 * s + 1) % static_cast<std::uint64_t>(p.n));
    T sum{0};
    for (index_t q = 0; q < p.k; ++q) sum += o.a(i, q).raw() * o.b(q, j).raw();
    require(!(std::abs(sum - o.c(i, j).raw()) > T{0}), ExitCode::internal,
            "the traced kernel " + p.kernel + " computed a wrong product");
  }
}

template <class T>
using Kernel = void (*)(const matmul::Gemm<Traced<T>>&, const matmul::Tuning&);

template <class T>
void run_as(Tracer& tracer, const Problem& p, Kernel<T> kernel) {
  const Operands<T> o = make<T>(tracer, p);
  fill(o.a, p.seed);
  fill(o.b, p.seed + 1);
  const machine::DefaultThreads alone(1);
  tracer.run([&] {
    kernel({.alpha = T{1}, .a = o.a, .b = o.b, .beta = T{0}, .c = o.c},
           {.tile = p.tile, .block = 256, .column_width = p.column_width});
  });
  check(o, p);
}

template <Kernel<float> f32, Kernel<double> f64, index_t tile>
Problem run(Tracer& tracer, const Problem& problem) {
  Problem p = problem;
  if (p.tile == 0) p.tile = tile;
  if (p.column_width == 0) p.column_width = 32;
  if (p.element_bytes == 4) {
    run_as<float>(tracer, p, f32);
  } else {
    run_as<double>(tracer, p, f64);
  }
  return p;
}

/// Returns the vector width of the register block, that of the instruction set in use.
std::string_view vector_leaf() {
  return machine::of_isa<std::string_view>(machine::isa(), "vectors of 16 B", "vectors of 32 B",
                                           "vectors of 64 B");
}

}  // namespace

#define ROW(name, leaf, kernel, tile) \
  { "matmul", name, leaf, run<matmul::kernel<Traced<float>>, matmul::kernel<Traced<double>>, tile> }

std::vector<TracedKernel> matmul_kernels() {
  constexpr index_t tile = 32;  // three tiles of doubles: 24 KiB of a 32 KiB first level
  constexpr index_t leaf = 8;   // one line of doubles: the theorem holds down to small caches
  return {ROW("naive", "scalar", naive, tile),
          ROW("transposed", "scalar", transposed, tile),
          ROW("tiled", "scalar", tiled, tile),
          ROW("transposed_tiled", "scalar", transposed_tiled, tile),
          ROW("column", "scalar", column, tile),
          ROW("zigzag", "scalar", zigzag, tile),
          ROW("recursive", "scalar", recursive, leaf),
          {"matmul", "cache_oblivious", vector_leaf(),
           run<cache_oblivious_row<Traced<float>>, cache_oblivious_row<Traced<double>>, tile>}};
}
#undef ROW

}  // namespace tessera::inline v1::locality
