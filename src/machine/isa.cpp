#include "machine/isa.hpp"

#include <array>
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "base/simd/processor.hpp"

namespace tessera::inline v1::machine {
namespace {

#if defined(__x86_64__)
constexpr std::array<std::string_view, 3> names{"baseline", "avx2", "avx512"};
#elif defined(__aarch64__)
constexpr std::array<std::string_view, 3> names{"baseline", "sve256", "sve512"};
#else
constexpr std::array<std::string_view, 1> names{"baseline"};
#endif

/// Returns the set that is taken unless TESSERA_ISA names one: NEON on aarch64, because SVE has not
/// been measured on a machine that has it.
Isa best_here() {
#if defined(__aarch64__)
  return Isa::baseline;
#else
  if (supports(Isa::bits512)) return Isa::bits512;
  return supports(Isa::bits256) ? Isa::bits256 : Isa::baseline;
#endif
}

/// Returns "baseline, avx2 or avx512".
std::string choices() {
  std::string text;
  const auto all = isa_names();
  for (std::size_t i = 0; i < all.size(); ++i)
    text.append(i == 0 ? "" : i + 1 < all.size() ? ", " : " or ").append(all[i]);
  return text;
}

Isa choose() {
  const Isa best = best_here();
  const char* wanted = std::getenv("TESSERA_ISA");
  if (wanted == nullptr || *wanted == '\0') return best;
  const auto all = isa_names();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] != wanted) continue;
    require(supports(static_cast<Isa>(i)), ExitCode::usage,
            "TESSERA_ISA=" + std::string(wanted) +
                " exceeds the instruction sets of this processor (" + std::string(name(best)) +
                ")");
    return static_cast<Isa>(i);
  }
  throw Error(ExitCode::usage, "TESSERA_ISA=" + std::string(wanted) +
                                   " is not an instruction set; use " + choices());
}

}  // namespace

bool supports(Isa isa) {
  switch (isa) {
    case Isa::baseline:
      return true;
    case Isa::bits256:
      return simd::processor_has(32);
    case Isa::bits512:
      return simd::processor_has(64);
  }
  return false;
}

Isa isa() {
  static const Isa chosen = choose();
  return chosen;
}

std::string_view name(Isa isa) { return names[static_cast<std::size_t>(isa)]; }

std::span<const std::string_view> isa_names() { return names; }

}  // namespace tessera::inline v1::machine
