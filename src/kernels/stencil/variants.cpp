// The table of stencil kernels. Its first row is the reference of the tests.

#include "kernels/stencil/variants.hpp"

#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "kernels/joined.hpp"
#include "kernels/stencil/cuda.hpp"
#include "kernels/stencil/tuning.hpp"

namespace tessera::inline v1::stencil {
namespace {

std::vector<Variant> make_table() {
  std::vector<Variant> table{
      {{"naive", Space::host, "step by step, row by row (reference)"},
       naive<float>,
       naive<double>,
       {},
       naive<Half>,
       naive<BFloat16>},
      {{"tiled", Space::host, "spatial tiling in x and y, step by step"},
       tiled<float>,
       tiled<double>,
       {},
       tiled<Half>,
       tiled<BFloat16>},
      {{"column", Space::host, "columns of --column-width points, step by step"},
       column<float>,
       column<double>,
       {},
       column<Half>,
       column<BFloat16>},
      {{"zigzag", Space::host, "as column, every other row from right to left"},
       zigzag<float>,
       zigzag<double>,
       {},
       zigzag<Half>,
       zigzag<BFloat16>},
      {{"streaming", Space::host, "vector kernels with streaming stores, step by step"},
       streaming<float>,
       streaming<double>,
       {},
       streaming<Half>,
       streaming<BFloat16>},
      {{"cache_oblivious", Space::host,
        "space-time trapezoids (Frigo and Strumpen 2005; Tang et al. 2011)"},
       cache_oblivious<float>,
       cache_oblivious<double>,
       {},
       cache_oblivious<Half>,
       cache_oblivious<BFloat16>},
  };
  return joined(std::move(table), cuda_rows());
}

}  // namespace

std::span<const Variant> variants() {
  static const std::vector<Variant> table = make_table();
  return table;
}

template <class T>
void run(const Variant& variant, const Sweep<T>& sweep, const Tuning& tuning) {
  if (is_stored_half<T> && sweep.terms.any()) {
    throw Error(ExitCode::usage,
                std::string(name_of_half<T>) +
                    " fields do not support coefficients, source, mask or walls; use f32 or f64");
  }
  check(sweep);
  if (variant.of<T>() == nullptr) {
    throw Error(ExitCode::usage, "variant " + std::string(variant.name) + " does not support " +
                                     std::string(name_of_half<T>) + " fields; use another");
  }
  keep_given(sweep);
  variant.of<T>()(sweep, tuning);
}
template void run(const Variant&, const Sweep<Half>&, const Tuning&);
template void run(const Variant&, const Sweep<BFloat16>&, const Tuning&);
template void run(const Variant&, const Sweep<float>&, const Tuning&);
template void run(const Variant&, const Sweep<double>&, const Tuning&);

const Variant* best_device() { return find_variant(variants(), "cuda_temporal"); }

template <class T>
const Variant& best(const Sweep<T>& sweep) {
  // In one dimension blocks also fit the first-level cache, and threads synchronise less often.
  const bool plain = sweep.steps <= 1 || (sweep.stencil.dims > 1 && fits_second_levels(sweep));
  return *find_variant(variants(), plain ? "streaming" : "cache_oblivious");
}
template const Variant& best(const Sweep<Half>&);
template const Variant& best(const Sweep<BFloat16>&);
template const Variant& best(const Sweep<float>&);
template const Variant& best(const Sweep<double>&);

}  // namespace tessera::inline v1::stencil
