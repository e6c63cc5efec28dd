// The table of transpose kernels. Its first row is the reference of the tests.

#include "kernels/transpose/variants.hpp"

#include <utility>
#include <vector>

#include "kernels/joined.hpp"
#include "kernels/transpose/cuda.hpp"

namespace tessera::inline v1::transpose {
namespace {

std::vector<Variant> make_table() {
  std::vector<Variant> table{
      {{"naive", Space::host, "textbook double loop, row by row (reference)"}, naive, nullptr},
      {{"tiled", Space::host, "square tiles in row, zigzag or diagonal order"}, tiled, nullptr},
      {{"column", Space::host, "strips of --column-width columns"}, column, nullptr},
      {{"recursive", Space::host,
        "cache-oblivious recursion down to --tile, tasks (Frigo et al. 1999)"},
       recursive,
       nullptr},
      {{"cache_oblivious", Space::host,
        "cache-oblivious recursion, vector blocks, streaming stores (Frigo et al. 1999)"},
       cache_oblivious,
       nullptr},
      {{"in_place", Space::host,
        "recursive swaps; rectangles in chunks or passes (Catanzaro et al. 2014)"},
       nullptr,
       in_place},
  };
  return joined(std::move(table), cuda_rows());
}

}  // namespace

std::span<const Variant> variants() {
  static const std::vector<Variant> table = make_table();
  return table;
}

const Variant& best(const ConstRecords&, const Records&) {
  return *find_variant(variants(), "cache_oblivious");
}

const Variant* best_device() { return find_variant(variants(), "cuda_vectorized"); }

}  // namespace tessera::inline v1::transpose
