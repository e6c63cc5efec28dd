#pragma once
// Time steps of a field in an array of the caller.

#include <cstddef>

#include "kernels/stencil/variants.hpp"

namespace tessera::inline v1::stencil {

/// Steps of a field from one array to another, which are the same elements or separate memory. Of
/// fields of fewer than three dimensions the leading extents are 1. Strides are in bytes; elements
/// need no alignment.
struct ArrayMarch {
  Stencil stencil;
  Sides sides;
  index_t steps = 0;
  int threads = 1;
  Index3 extent{{1, 1, 1}};
  const std::byte* from = nullptr;
  Index3 from_stride;
  std::byte* to = nullptr;
  Index3 to_stride;
  const Variant* kernel = nullptr;  ///< nullptr: the best
};

/// Copies the field to memory with ghost layers, advances it and copies it back, on as many of the
/// threads as pay off. Throws Error(usage) for invalid stencils and sides, and for a stencil that
/// needs the field of the previous step, and Error(memory).
template <class T>
void advance(const ArrayMarch& march);

/// Returns the bytes of a machine::Workspace from which advance() allocates all, whatever the
/// steps.
template <class T>
[[nodiscard]] index_t workspace_bytes(const ArrayMarch& march);

}  // namespace tessera::inline v1::stencil
