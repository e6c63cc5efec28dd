#include "machine/isa.hpp"

#include <array>
#include <cstdlib>
#include <string>

#include "base/error.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tessera::machine {
namespace {

constexpr std::array<std::string_view, 3> names{"baseline", "avx2", "avx512"};

#if defined(__x86_64__)
/// Returns whether the processor converts halves. Some compilers' __builtin_cpu_supports does not
/// know the name.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

Isa best_here() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  return avx512 ? Isa::avx512 : avx2 ? Isa::avx2 : Isa::baseline;
#else
  return Isa::baseline;
#endif
}

Isa choose() {
  const Isa best = best_here();
  const char* wanted = std::getenv("TESSERA_ISA");
  if (wanted == nullptr || *wanted == '\0') return best;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != wanted) continue;
    require(static_cast<Isa>(i) <= best, ExitCode::usage,
            "TESSERA_ISA=" + std::string(wanted) +
                " exceeds the instruction sets of this processor (" + std::string(name(best)) +
                ")");
    return static_cast<Isa>(i);
  }
  throw Error(ExitCode::usage, "TESSERA_ISA=" + std::string(wanted) +
                                   " is not an instruction set; use baseline, avx2 or avx512");
}

}  // namespace

Isa isa() {
  static const Isa chosen = choose();
  return chosen;
}

std::string_view name(Isa isa) { return names[static_cast<std::size_t>(isa)]; }

}  // namespace tessera::machine
