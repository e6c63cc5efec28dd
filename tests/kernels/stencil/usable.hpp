#pragma once
// Rows of the table that this machine can run.

#include "kernels/stencil/variants.hpp"
#include "machine/gpu.hpp"

namespace tessera::stencil {

inline std::vector<Variant> usable_variants() {
  const bool gpu = !machine::gpus().devices.empty();
  std::vector<Variant> rows;
  for (const Variant& row : variants()) {
    if (row.space == Space::host || gpu) rows.push_back(row);
  }
  return rows;
}

}  // namespace tessera::stencil
