#pragma once
// Instruction sets for which leaf kernels are compiled; one is selected at run time, once.

#include <span>
#include <string_view>

namespace tessera::inline v1::machine {

/// By the width of vectors: x86-64 has SSE2, AVX2 and AVX-512, aarch64 NEON and SVE of 256 and 512
/// bits, other processors what the compiler takes for the first.
enum class Isa { baseline, bits256, bits512 };

/// Returns the best set of this processor and build (on aarch64 NEON), or one named by TESSERA_ISA
/// (those of isa_names()). Throws Error(usage) if TESSERA_ISA is invalid or not supported here.
[[nodiscard]] Isa isa();
/// Returns whether this processor and build have a set.
[[nodiscard]] bool supports(Isa isa);
[[nodiscard]] std::string_view name(Isa isa);
/// Returns the names of the sets of this build: baseline, avx2, avx512 on x86-64.
[[nodiscard]] std::span<const std::string_view> isa_names();

/// Returns the argument that `isa` selects.
template <class T>
[[nodiscard]] constexpr const T& of_isa(Isa isa, const T& baseline, const T& bits256,
                                        const T& bits512) {
  if (isa == Isa::bits512) return bits512;
  return isa == Isa::bits256 ? bits256 : baseline;
}

}  // namespace tessera::inline v1::machine

/// Selects the function or object `name` of `isa` among the namespaces baseline, bits256 and
/// bits512, for which tessera_isa_source compiles it. Builds for processors other than x86-64 and
/// aarch64 have baseline only.
#ifdef TESSERA_ONLY_BASELINE
#define TESSERA_OF_ISA(isa, name) (static_cast<void>(isa), baseline::name)
#else
#define TESSERA_OF_ISA(isa, name) \
  ::tessera::machine::of_isa(isa, baseline::name, bits256::name, bits512::name)
#endif
