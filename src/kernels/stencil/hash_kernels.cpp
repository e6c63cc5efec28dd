// Hash of a row, compiled once per instruction set: AVX-512 multiplies eight 64-bit words at once.

#include <cstdint>

#include "base/hash.hpp"
#include "kernels/stencil/hash_rows.hpp"

namespace tessera::inline v1::stencil::TESSERA_ISA {
namespace {

template <class Word, class T>
std::uint64_t hash(const T* u, index_t n, std::uint64_t first) {
  std::uint64_t sum = 0;
  for (index_t x = 0; x < n; ++x) {
    Word word;
    __builtin_memcpy(&word, u + x, sizeof word);
    sum += hash_at(word, first + static_cast<std::uint64_t>(x));
  }
  return sum;
}

}  // namespace

std::uint64_t hash_row_f32(const float* u, index_t n, std::uint64_t first) {
  return hash<std::uint32_t>(u, n, first);
}
std::uint64_t hash_row_f64(const double* u, index_t n, std::uint64_t first) {
  return hash<std::uint64_t>(u, n, first);
}
std::uint64_t hash_row_f16(const Half* u, index_t n, std::uint64_t first) {
  return hash<std::uint16_t>(u, n, first);
}
std::uint64_t hash_row_bf16(const BFloat16* u, index_t n, std::uint64_t first) {
  return hash<std::uint16_t>(u, n, first);
}

}  // namespace tessera::inline v1::stencil::TESSERA_ISA
