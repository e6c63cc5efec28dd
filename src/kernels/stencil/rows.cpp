#include "kernels/stencil/rows.hpp"

namespace tessera::stencil {
namespace {

struct Set {
  RowKernel<float> (*f32)(const KernelKey&);
  RowKernel<double> (*f64)(const KernelKey&);
};

#ifdef TESSERA_ONLY_BASELINE
constexpr Set sets[] = {{baseline::row_kernel_f32, baseline::row_kernel_f64}};
#else
constexpr Set sets[] = {{baseline::row_kernel_f32, baseline::row_kernel_f64},
                        {avx2::row_kernel_f32, avx2::row_kernel_f64},
                        {avx512::row_kernel_f32, avx512::row_kernel_f64}};
#endif

}  // namespace

KernelKey kernel_key(const Stencil& stencil, Loops loops, Stores stores) {
  return {loops,
          stores,
          stencil.form,
          stencil.rule,
          stencil.is_full_star(),
          stencil.two_levels(),
          stencil.dims,
          static_cast<int>(stencil.radius[2])};
}

template <>
RowKernel<float> row_kernel(const KernelKey& key, machine::Isa isa) {
  return sets[static_cast<int>(isa)].f32(key);
}
template <>
RowKernel<double> row_kernel(const KernelKey& key, machine::Isa isa) {
  return sets[static_cast<int>(isa)].f64(key);
}

}  // namespace tessera::stencil
