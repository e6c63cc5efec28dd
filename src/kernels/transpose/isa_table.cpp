// Dispatch tables of the functions compiled per instruction set.

#include "kernels/transpose/checksum_rows.hpp"
#include "kernels/transpose/combine.hpp"
#include "kernels/transpose/leaf.hpp"

namespace tessera::inline v1::transpose {

const LeafSet& leaf_set(machine::Isa isa) { return TESSERA_OF_ISA(isa, leaf_set); }
const CombineSet& combine_set(machine::Isa isa) { return TESSERA_OF_ISA(isa, combine_set); }
ChecksumRow* checksum_row(machine::Isa isa) { return &TESSERA_OF_ISA(isa, checksum_row); }

}  // namespace tessera::inline v1::transpose
