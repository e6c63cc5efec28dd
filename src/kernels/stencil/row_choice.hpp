#pragma once
// Selection of a row kernel, in the namespace TESSERA_ISA. Only for row_kernels.cpp and the file
// that instantiates the kernels on traced elements.

#include "base/instrument.hpp"
#include "kernels/stencil/box_rows.hpp"
#include "kernels/stencil/chain_rows.hpp"
#include "kernels/stencil/rows.hpp"
#include "kernels/stencil/star_rows.hpp"

namespace tessera::inline v1::stencil::TESSERA_ISA {
namespace {

template <class T>
RowKernel<T> kernel(const KernelKey& key) {
  if (key.form == Form::box) {
    switch (key.radius) {
      case 1:
        return box_kernel<T, 1>(key);
      case 2:
        return box_kernel<T, 2>(key);
      case 3:
        return box_kernel<T, 3>(key);
      default:
        return box_kernel<T, 4>(key);
    }
  }
  if (key.loops == Loops::vector && key.star && key.rule == Rule::linear) {
    switch (key.radius) {
      case 1:
        return star_kernel<T, 1>(key);
      case 2:
        return star_kernel<T, 2>(key);
      case 3:
        return star_kernel<T, 3>(key);
      case 4:
        return star_kernel<T, 4>(key);
      default:
        break;
    }
  }
  if constexpr (!is_traced<T>) {  // traced elements have linear sums only
    switch (key.rule) {
      case Rule::life:
        return chain_kernel<T, Rule::life>(key);
      case Rule::linear:
        break;
    }
  }
  return chain_kernel<T, Rule::linear>(key);
}

}  // namespace
}  // namespace tessera::inline v1::stencil::TESSERA_ISA
