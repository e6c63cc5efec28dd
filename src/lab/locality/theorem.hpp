#pragma once
// What the theory says of a kernel's misses on an ideal cache, and how well it fits.

#include <functional>
#include <optional>
#include <string>

#include "lab/locality/kernels.hpp"
#include "lab/locality/stack_distance.hpp"

namespace tessera::locality {

/// Q(n; Z, L) of a cache with room for some lines.
struct Theorem {
  std::string formula;                    ///< in n, m, k, Z, L (elements)
  std::function<double(index_t)> misses;  ///< by lines; what does not depend on the constant
  /// The term with an unknown constant; none where all constants are known.
  std::function<double(index_t)> fitted = {};
  double exponent = 0;  ///< of Z in that term
  /// The sizes at which that term rules: large enough for the recursion's leaf, too small for the
  /// whole problem.
  index_t from_lines = 1, to_lines = 1;
};

/// Lines hold `line_bytes`; nothing where the kernel has no theorem.
[[nodiscard]] std::optional<Theorem> theorem_of(const Problem& problem, index_t line_bytes);

/// Those of sort and of the sorting probes.
[[nodiscard]] std::optional<Theorem> sort_theorem(const Problem& problem, index_t line_bytes);

struct Fit {
  /// Of the fitted term, NAN where no size lies in the theorem's range; measured / predicted where
  /// all constants are known.
  double constant = 1;
  double exponent =
      0;  ///< of Z in the misses beyond those at any size, over the theorem's range; or NAN
  index_t tall_from = 0;  ///< lines: from here up there are at most a quarter more misses than the
                          ///< theorem's; 0: nowhere
  [[nodiscard]] double predicted(const Theorem& theorem, index_t lines) const {
    return theorem.misses(lines) + (theorem.fitted ? constant * theorem.fitted(lines) : 0);
  }
};
[[nodiscard]] Fit fit(const Theorem& theorem, const MissCurve& curve);

/// Sizes in lines, four an octave, from 1 to the first at which nothing misses twice.
[[nodiscard]] std::vector<index_t> sizes_of(const MissCurve& curve);

}  // namespace tessera::locality
