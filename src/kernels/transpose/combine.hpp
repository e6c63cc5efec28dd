#pragma once
// Scaled updates of rows, compiled per instruction set.

#include "base/index.hpp"
#include "machine/isa.hpp"

namespace tessera::inline v1::transpose {

/// Functions that compute b[0:n] = alpha * a[0:n] + beta * b[0:n]. beta == 0 never reads b; alpha
/// == 0 never reads a.
struct CombineSet {
  void (*f32)(float alpha, const float* a, float beta, float* b, index_t n);
  void (*f64)(double alpha, const double* a, double beta, double* b, index_t n);
};

namespace baseline {
extern const CombineSet combine_set;
}
namespace bits256 {
extern const CombineSet combine_set;
}
namespace bits512 {
extern const CombineSet combine_set;
}

[[nodiscard]] const CombineSet& combine_set(machine::Isa isa);

}  // namespace tessera::inline v1::transpose
