#pragma once
// Inputs by name: functions of (seed, global index, n) alone, so that any number of ranks makes the
// same data.

#include <cstdint>
#include <span>
#include <string_view>

#include "base/index.hpp"

namespace tessera::sort {

/// One distribution. `word` makes key number i of n as 64 bits whose order is the order of the keys
/// made from it.
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
/// The input of that name; throws Error(usage) naming the nearest.
[[nodiscard]] const Input& input(std::string_view name);

/// keys[j] = key number first + j of n in all. Of a wide input 32-bit keys take the upper half of
/// the word, signed keys lie about zero. In parallel on the threads of the region it is called in.
template <class T>
void generate(const Input& input, std::uint64_t seed, index_t first, index_t n, std::span<T> keys);

}  // namespace tessera::sort
