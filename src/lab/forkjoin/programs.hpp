#pragma once
// The probes of forkjoin on traced elements.

#include <span>
#include <string_view>
#include <vector>

#include "kernels/forkjoin/variants.hpp"
#include "lab/forkjoin/computation.hpp"

namespace tessera::inline v1::microscope {

struct Program {
  std::string_view kernel;
  Make make;
  index_t threshold;           ///< of a recording: small, so that the forks determine the span
  std::vector<index_t> sizes;  ///< to fit the growth of work and span to

  [[nodiscard]] const forkjoin::Variant& variant() const {
    return *find_variant(forkjoin::variants(), kernel);
  }
  /// Returns the size that powers are fitted in: n, or phi^n for fib.
  [[nodiscard]] double scale(index_t n) const;
};

[[nodiscard]] std::span<const Program> programs();
/// Returns the program of a kernel. Throws Error(usage) for unknown names.
[[nodiscard]] const Program& program(std::string_view kernel);

/// Growth of a count over several sizes.
struct GrowthFit {
  double power;      ///< fitted exponent of the size
  double theory;     ///< that of the theory over the same sizes
  double explained;  ///< share of the variance that a + b * theory explains
};
/// Fits counts at sizes; needs three sizes or more.
[[nodiscard]] GrowthFit fit(const std::vector<double>& sizes, const std::vector<double>& counts,
                            const std::vector<double>& theory);

}  // namespace tessera::inline v1::microscope
