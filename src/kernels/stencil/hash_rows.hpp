#pragma once
// Hash of a row of values, compiled for several instruction sets.

#include <cstdint>

#include "base/bfloat16.hpp"
#include "machine/isa.hpp"

namespace tessera::inline v1::stencil {

/// A function that returns the sum mod 2^64 of hash_at(bits of u[x], first + x) for 0 <= x < n.
template <class T>
using HashRow = std::uint64_t (*)(const T* u, index_t n, std::uint64_t first);
template <class T>
[[nodiscard]] HashRow<T> hash_row(machine::Isa isa);

namespace baseline {
std::uint64_t hash_row_f32(const float* u, index_t n, std::uint64_t first);
std::uint64_t hash_row_f64(const double* u, index_t n, std::uint64_t first);
std::uint64_t hash_row_f16(const Half* u, index_t n, std::uint64_t first);
std::uint64_t hash_row_bf16(const BFloat16* u, index_t n, std::uint64_t first);
}  // namespace baseline
namespace bits256 {
std::uint64_t hash_row_f32(const float* u, index_t n, std::uint64_t first);
std::uint64_t hash_row_f64(const double* u, index_t n, std::uint64_t first);
std::uint64_t hash_row_f16(const Half* u, index_t n, std::uint64_t first);
std::uint64_t hash_row_bf16(const BFloat16* u, index_t n, std::uint64_t first);
}  // namespace bits256
namespace bits512 {
std::uint64_t hash_row_f32(const float* u, index_t n, std::uint64_t first);
std::uint64_t hash_row_f64(const double* u, index_t n, std::uint64_t first);
std::uint64_t hash_row_f16(const Half* u, index_t n, std::uint64_t first);
std::uint64_t hash_row_bf16(const BFloat16* u, index_t n, std::uint64_t first);
}  // namespace bits512

}  // namespace tessera::inline v1::stencil
