// The table of matmul kernels. Its first row is the reference of the tests.

#include "kernels/matmul/variants.hpp"

#include <fmt/core.h>

#include <utility>
#include <vector>

#include "base/error.hpp"
#include "kernels/joined.hpp"
#include "kernels/matmul/blas.hpp"
#include "kernels/matmul/cache_oblivious.hpp"
#include "kernels/matmul/cuda.hpp"
#include "kernels/matmul/textbook.hpp"

namespace tessera::inline v1::matmul {
namespace {

template <class T>
void cache_oblivious_row(const Gemm<T>& g, const Tuning&) {
  cache_oblivious(g);
}

constexpr HalfProducts half_products{cache_oblivious, cache_oblivious, cache_oblivious,
                                     cache_oblivious};

std::vector<Variant> make_table() {
  std::vector<Variant> table{
      {{"naive", Space::host, "triple loop i, j, p; one thread (reference)"},
       naive<float>,
       naive<double>,
       {},
       naive<Complex<float>>,
       naive<Complex<double>>},
      {{"transposed", Space::host, "B transposed first, then dot products of rows; one thread"},
       transposed<float>,
       transposed<double>,
       {},
       transposed<Complex<float>>,
       transposed<Complex<double>>},
      {{"tiled", Space::host,
        "loop tiling with square tiles of --tile; one thread (Lam et al. 1991)"},
       tiled<float>,
       tiled<double>,
       {},
       tiled<Complex<float>>,
       tiled<Complex<double>>},
      {{"transposed_tiled", Space::host, "B transposed first, then square tiles; one thread"},
       transposed_tiled<float>,
       transposed_tiled<double>,
       {},
       transposed_tiled<Complex<float>>,
       transposed_tiled<Complex<double>>},
      {{"column", Space::host, "C by columns of --column-width elements; one thread"},
       column<float>,
       column<double>,
       {},
       column<Complex<float>>,
       column<Complex<double>>},
      {{"zigzag", Space::host, "as column, every other row from right to left; one thread"},
       zigzag<float>,
       zigzag<double>,
       {},
       zigzag<Complex<float>>,
       zigzag<Complex<double>>},
      {{"recursive", Space::host,
        "cache-oblivious recursion down to --tile, tasks (Frigo et al. 1999)"},
       recursive<float>,
       recursive<double>,
       {},
       recursive<Complex<float>>,
       recursive<Complex<double>>},
      {{"cache_oblivious", Space::host,
        "cache-oblivious recursion, tasks, packed vector leaf (Frigo et al. 1999)"},
       cache_oblivious_row<float>,
       cache_oblivious_row<double>,
       {},
       cache_oblivious_row<Complex<float>>,
       cache_oblivious_row<Complex<double>>,
       half_products}};
  table.push_back(blas_row());
  return joined(std::move(table), cuda_rows());
}

}  // namespace

std::span<const Variant> variants() {
  static const std::vector<Variant> table = make_table();
  return table;
}

const Variant& best() { return *find_variant(variants(), "cache_oblivious"); }

void Variant::require_halves(bool multiplies, std::string_view element) const {
  require(multiplies, ExitCode::usage,
          fmt::format("the kernel {} does not multiply {}; use cache_oblivious", name, element));
}

Precision precision_named(std::string_view name) {
  return name == "tf32"   ? Precision::tf32
         : name == "bf16" ? Precision::bf16
         : name == "f16"  ? Precision::f16
         : name == "fp8"  ? Precision::fp8
         : name == "int8" ? Precision::int8
                          : Precision::full;
}

RoundingError rounding_error(Precision precision) {
  // Tensor cores cut the addends of an instruction, of 8 (tf32) or 16 products, to the bits of f32.
  constexpr double unit = 0x1p-24, in_eights = unit / 4, in_sixteens = unit / 8;
  switch (precision) {
    case Precision::tf32:
      return {.bits = 11, .ties = RoundingError::Ties::away, .of_each = in_eights};
    case Precision::f16:  // multiples of 2^-24
      return {.bits = 11, .absolute = 0x1p-25, .of_each = in_sixteens};
    case Precision::bf16:
      return {.bits = 8, .of_each = in_sixteens};
    case Precision::fp8:
      // e4m3: multiples of 2^-9 units, the largest is in (224, 448] units. Some 14 bits are left of
      // the 32 addends of an instruction and the sum before, 4 times until that is added in f32.
      return {.bits = 4,
              .of_largest = 0x1p-10 / 224,
              .absolute = 0x1p-136,
              .of_sums = 4 * 33 * 0x1p-13};
    case Precision::int8:  // half of 1/127 of the largest, and what its f32 quotient is off
      return {.of_largest = (1 + 0x1p-14) / 254, .absolute = 0x1p-127};
    case Precision::full:
      break;
  }
  return {};
}

const Variant* best_device() { return find_variant(variants(), "cuda_tensor"); }

}  // namespace tessera::inline v1::matmul
