#pragma once
// Rows of the table that this machine can run on fields of T.

#include "kernels/stencil/variants.hpp"
#include "machine/gpu.hpp"

namespace tessera::stencil {

template <class T = double>
std::vector<Variant> usable_variants() {
  const bool gpu = !machine::gpus().devices.empty();
  std::vector<Variant> rows;
  for (const Variant& row : variants()) {
    if ((row.space == Space::host || gpu) && row.of<T>() != nullptr) rows.push_back(row);
  }
  return rows;
}

}  // namespace tessera::stencil
