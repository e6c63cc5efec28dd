#include "kernels/stencil/term_rows.hpp"

namespace tessera::stencil {
namespace {

struct Set {
  TermKernel<float> (*f32)(const TermKey&);
  TermKernel<double> (*f64)(const TermKey&);
};

#ifdef TESSERA_ONLY_BASELINE
constexpr Set sets[] = {{baseline::term_kernel_f32, baseline::term_kernel_f64}};
#else
constexpr Set sets[] = {{baseline::term_kernel_f32, baseline::term_kernel_f64},
                        {avx2::term_kernel_f32, avx2::term_kernel_f64},
                        {avx512::term_kernel_f32, avx512::term_kernel_f64}};
#endif

}  // namespace

template <>
TermKernel<float> term_kernel(const TermKey& key, machine::Isa isa) {
  return sets[static_cast<int>(isa)].f32(key);
}
template <>
TermKernel<double> term_kernel(const TermKey& key, machine::Isa isa) {
  return sets[static_cast<int>(isa)].f64(key);
}

}  // namespace tessera::stencil
