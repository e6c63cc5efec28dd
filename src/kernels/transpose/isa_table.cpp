// The functions that are compiled per instruction set, by set.

#include "kernels/transpose/checksum_rows.hpp"
#include "kernels/transpose/combine.hpp"
#include "kernels/transpose/leaf.hpp"

namespace tessera::transpose {

#ifdef TESSERA_ONLY_BASELINE
const LeafSet& leaf_set(machine::Isa) { return baseline::leaf_set; }
const CombineSet& combine_set(machine::Isa) { return baseline::combine_set; }
ChecksumRow* checksum_row(machine::Isa) { return baseline::checksum_row; }
#else
namespace {

template <class T>
const T& pick(machine::Isa isa, const T& baseline, const T& avx2, const T& avx512) {
  return isa == machine::Isa::avx512 ? avx512 : isa == machine::Isa::avx2 ? avx2 : baseline;
}

}  // namespace

const LeafSet& leaf_set(machine::Isa isa) {
  return pick(isa, baseline::leaf_set, avx2::leaf_set, avx512::leaf_set);
}
const CombineSet& combine_set(machine::Isa isa) {
  return pick(isa, baseline::combine_set, avx2::combine_set, avx512::combine_set);
}
ChecksumRow* checksum_row(machine::Isa isa) {
  return &pick(isa, baseline::checksum_row, avx2::checksum_row, avx512::checksum_row);
}
#endif

}  // namespace tessera::transpose
