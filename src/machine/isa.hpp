#pragma once
// Instruction sets for which leaf kernels are compiled; one is selected at run time, once.

#include <string_view>

namespace tessera::machine {

enum class Isa { baseline, avx2, avx512 };

/// Returns the best set of this processor and build, or the lower one named by TESSERA_ISA
/// (baseline, avx2, avx512). Throws Error(usage) if TESSERA_ISA is invalid or not supported here.
[[nodiscard]] Isa isa();
[[nodiscard]] std::string_view name(Isa isa);

/// Returns the argument that `isa` selects.
template <class T>
[[nodiscard]] constexpr const T& of_isa(Isa isa, const T& baseline, const T& avx2,
                                        const T& avx512) {
  if (isa == Isa::avx512) return avx512;
  return isa == Isa::avx2 ? avx2 : baseline;
}

}  // namespace tessera::machine

/// Selects the function or object `name` of `isa` among the namespaces baseline, avx2 and avx512,
/// for which tessera_isa_source compiles it. Builds for other processors have baseline only.
#ifdef TESSERA_ONLY_BASELINE
#define TESSERA_OF_ISA(isa, name) (static_cast<void>(isa), baseline::name)
#else
#define TESSERA_OF_ISA(isa, name) \
  ::tessera::machine::of_isa(isa, baseline::name, avx2::name, avx512::name)
#endif
