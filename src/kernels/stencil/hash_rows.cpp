#include "kernels/stencil/hash_rows.hpp"

namespace tessera::stencil {
namespace {

struct Set {
  HashRow<float> f32;
  HashRow<double> f64;
};

#ifdef TESSERA_ONLY_BASELINE
constexpr Set sets[] = {{baseline::hash_row_f32, baseline::hash_row_f64}};
#else
constexpr Set sets[] = {{baseline::hash_row_f32, baseline::hash_row_f64},
                        {avx2::hash_row_f32, avx2::hash_row_f64},
                        {avx512::hash_row_f32, avx512::hash_row_f64}};
#endif

}  // namespace

template <>
HashRow<float> hash_row(machine::Isa isa) {
  return sets[static_cast<int>(isa)].f32;
}
template <>
HashRow<double> hash_row(machine::Isa isa) {
  return sets[static_cast<int>(isa)].f64;
}

}  // namespace tessera::stencil
