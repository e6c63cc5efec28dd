#pragma once
// Stencils as the C API describes them.

#include "kernels/stencil/boundary.hpp"
#include "kernels/stencil/stencil.hpp"
#include "tessera.h"

namespace tessera::inline v1::c {

/// Return the stencil and its boundaries. Throw Error(usage) naming `stencil`.
[[nodiscard]] stencil::Stencil stencil_of(const tessera_stencil* given);
[[nodiscard]] stencil::Sides sides_of(const tessera_stencil& given);

/// Returns three values, those of missing leading dimensions being `missing`. Throws Error(usage)
/// naming the argument for a null pointer, and for values less than `least`.
[[nodiscard]] Index3 three(const int64_t* values, int dims, index_t missing, index_t least,
                           const char* argument);

}  // namespace tessera::inline v1::c
