#pragma once
// The loops of verification, compiled once for each instruction set.

#include <cstdint>

#include "kernels/sort/key.hpp"
#include "machine/isa.hpp"

namespace tessera::sort {

/// Of a seed; `factor` is odd. Hashes of keys of 32 bits take the lower halves.
struct Salt {
  std::uint64_t flip = 0, factor = 1;
};

struct Looked {
  std::uint64_t hash = 0;
  bool sorted = true;
};

/// hash: of raw[0:n]. look: that, and whether the bits never go down from `before` (a raw key) through
/// raw[0:n]. ascend: only that, through raw[0:n].
#define TESSERA_SORT_VERIFY_KERNELS                                                          \
  std::uint64_t hash_keys32(const std::uint32_t* raw, index_t n, const Salt& salt);          \
  std::uint64_t hash_keys64(const std::uint64_t* raw, index_t n, const Salt& salt);          \
  bool keys_ascend32(const std::uint32_t* raw, index_t n, const KeyMap<std::uint32_t>& map); \
  bool keys_ascend64(const std::uint64_t* raw, index_t n, const KeyMap<std::uint64_t>& map); \
  Looked look_at_keys32(const std::uint32_t* raw, index_t n, std::uint32_t before,           \
                        const KeyMap<std::uint32_t>& map, const Salt& salt);                 \
  Looked look_at_keys64(const std::uint64_t* raw, index_t n, std::uint64_t before,           \
                        const KeyMap<std::uint64_t>& map, const Salt& salt)
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
