// Dispatch from an instruction set to its hash of rows.

#include "kernels/stencil/hash_rows.hpp"

namespace tessera::inline v1::stencil {

template <>
HashRow<float> hash_row(machine::Isa isa) {
  return TESSERA_OF_ISA(isa, hash_row_f32);
}
template <>
HashRow<double> hash_row(machine::Isa isa) {
  return TESSERA_OF_ISA(isa, hash_row_f64);
}
template <>
HashRow<Half> hash_row(machine::Isa isa) {
  return TESSERA_OF_ISA(isa, hash_row_f16);
}
template <>
HashRow<BFloat16> hash_row(machine::Isa isa) {
  return TESSERA_OF_ISA(isa, hash_row_bf16);
}

}  // namespace tessera::inline v1::stencil
