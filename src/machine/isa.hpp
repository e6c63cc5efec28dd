#pragma once
// Instruction sets for which leaf kernels are compiled; the best one here is chosen once, at run
// time.

#include <string_view>

namespace tessera::machine {

enum class Isa { baseline, avx2, avx512 };

/// The best set that this processor has and this build contains, or the lower one that TESSERA_ISA
/// names (baseline, avx2, avx512); throws Error(usage) when TESSERA_ISA names something else or
/// more than is there.
[[nodiscard]] Isa isa();
[[nodiscard]] std::string_view name(Isa isa);

/// The one of three that `isa` names.
template <class T>
[[nodiscard]] constexpr const T& of_isa(Isa isa, const T& baseline, const T& avx2,
                                        const T& avx512) {
  if (isa == Isa::avx512) return avx512;
  return isa == Isa::avx2 ? avx2 : baseline;
}

}  // namespace tessera::machine

/// What is compiled for each set (tessera_isa_source) and stands as `name` in the namespaces
/// baseline, avx2 and avx512, a function or an object: that of `isa`. Builds for other processors
/// have baseline alone.
#ifdef TESSERA_ONLY_BASELINE
#define TESSERA_OF_ISA(isa, name) (static_cast<void>(isa), baseline::name)
#else
#define TESSERA_OF_ISA(isa, name) \
  ::tessera::machine::of_isa(isa, baseline::name, avx2::name, avx512::name)
#endif
