#pragma once
// Inputs by name: functions of (seed, global index, n) alone, so that any number of ranks generates
// the same data.

#include <cstdint>
#include <span>
#include <string_view>

#include "base/index.hpp"

namespace tessera::inline v1::sort {

/// A distribution. `word` returns key number i of n as 64 bits in the order of the keys generated
/// from it.
struct Input {
  enum class Width {
    narrow,
    wide
  };  ///< small integers, the same in every type; or a fraction of the type's range
  std::string_view name;
  std::string_view about;
  Width width;
  double centre, unit;  ///< a float key of a wide input is (word - centre) * unit
  std::uint64_t (*word)(std::uint64_t seed, std::uint64_t i, std::uint64_t n);
};

[[nodiscard]] std::span<const Input> inputs();
/// Returns the input of that name; throws Error(usage) that names the nearest.
[[nodiscard]] const Input& input(std::string_view name);

/// Generates keys[j] = key number first + j of n in total. For a wide input 32-bit keys take the
/// upper half of the word, and signed keys are centred at zero. Runs on the threads of the
/// enclosing parallel region.
template <class T>
void generate(const Input& input, std::uint64_t seed, index_t first, index_t n, std::span<T> keys);

}  // namespace tessera::inline v1::sort
