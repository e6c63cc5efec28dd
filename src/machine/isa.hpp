#pragma once
// Instruction sets for which leaf kernels are compiled; the best one here is chosen once, at run time.

#include <string_view>

namespace tessera::machine {

enum class Isa { baseline, avx2, avx512 };

/// The best set that this processor has and this build contains, or the lower one that TESSERA_ISA names
/// (baseline, avx2, avx512); throws Error(usage) when TESSERA_ISA names something else or more than is there.
[[nodiscard]] Isa isa();
[[nodiscard]] std::string_view name(Isa isa);

}  // namespace tessera::machine
