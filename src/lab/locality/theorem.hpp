#pragma once
// Theoretical misses of a kernel on an ideal cache, and their fit to simulated ones.

#include <functional>
#include <optional>
#include <string>

#include "lab/locality/kernels.hpp"
#include "lab/locality/stack_distance.hpp"

namespace tessera::inline v1::locality {

/// Cache complexity Q(n; Z, L).
struct Theorem {
  std::string formula;                    ///< in n, m, k, Z, L (elements)
  std::function<double(index_t)> misses;  ///< by lines; terms without the fitted constant
  /// Term with an unknown constant; none if all constants are known.
  std::function<double(index_t)> fitted = {};
  double exponent = 0;  ///< of Z in that term
  /// Sizes at which that term dominates: above the recursion's leaf, below the whole problem.
  index_t from_lines = 1, to_lines = 1;
};

/// Returns the theorem of a problem for lines of `line_bytes`; nullopt if the kernel has none.
[[nodiscard]] std::optional<Theorem> theorem_of(const Problem& problem, index_t line_bytes);

/// Returns the width of columns, of whole lines and below 4096 elements, with which the theorem has
/// the fewest misses in a cache of `lines`, the smallest of several; 0 if whole rows have no more,
/// or the kernel has no columns.
[[nodiscard]] index_t best_width(const Problem& problem, index_t line_bytes, index_t lines);

/// Returns the theorems of sort and of the sorting probes.
[[nodiscard]] std::optional<Theorem> sort_theorem(const Problem& problem, index_t line_bytes);

struct Fit {
  /// Constant of the fitted term, NAN if no size is within the theorem's range; measured /
  /// predicted if all constants are known.
  double constant = 1;
  double exponent =
      0;  ///< of Z in the misses beyond those at any size, over the theorem's range; or NAN
  index_t tall_from = 0;  ///< smallest size in lines from which up misses exceed the theorem's by
                          ///< at most a quarter; 0: none
  [[nodiscard]] double predicted(const Theorem& theorem, index_t lines) const {
    return theorem.misses(lines) + (theorem.fitted ? constant * theorem.fitted(lines) : 0);
  }
};
[[nodiscard]] Fit fit(const Theorem& theorem, const MissCurve& curve);

/// Returns sizes in lines, four per octave, from 1 to the first at which only first touches miss.
[[nodiscard]] std::vector<index_t> sizes_of(const MissCurve& curve);

}  // namespace tessera::inline v1::locality
