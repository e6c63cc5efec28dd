#pragma once
// The loops of verification, compiled once for each instruction set.

#include <cstdint>

#include "kernels/sort/key.hpp"
#include "machine/isa.hpp"

namespace tessera::sort {

struct Looked {
  std::uint64_t hash = 0;  ///< sum of mix64(raw ^ seed)
  index_t descents = 0;
};

/// hash: of raw[0:n]. look: that, and how often the bits go down from `before` (a raw key) through raw[0:n].
#define TESSERA_SORT_VERIFY_KERNELS                                                   \
  std::uint64_t hash_keys32(const std::uint32_t* raw, index_t n, std::uint64_t seed); \
  std::uint64_t hash_keys64(const std::uint64_t* raw, index_t n, std::uint64_t seed); \
  Looked look_at_keys32(const std::uint32_t* raw, index_t n, std::uint32_t before,    \
                        const KeyMap<std::uint32_t>& map, std::uint64_t seed);        \
  Looked look_at_keys64(const std::uint64_t* raw, index_t n, std::uint64_t before,    \
                        const KeyMap<std::uint64_t>& map, std::uint64_t seed)
namespace baseline {
TESSERA_SORT_VERIFY_KERNELS;
}
namespace avx2 {
TESSERA_SORT_VERIFY_KERNELS;
}
namespace avx512 {
TESSERA_SORT_VERIFY_KERNELS;
}
#undef TESSERA_SORT_VERIFY_KERNELS

}  // namespace tessera::sort
