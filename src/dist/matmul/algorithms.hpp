#pragma once
// The table of distributed products. The file of an algorithm defines its entry (AlgorithmInfo in
// multiply.hpp), which everybody else reads.

#include <array>
#include <cstddef>

namespace tessera::inline v1::dist::matmul {

enum class Algorithm {
  recursive,  ///< recursive plan (after CARMA, Demmel et al. 2013): fetches operands once, splits k
              ///< if that saves words
  summa,      ///< SUMMA (van de Geijn and Watts 1997): broadcasts panels of a and b along a grid of
              ///< ranks
};
inline constexpr std::array every_algorithm{Algorithm::recursive, Algorithm::summa};
static_assert(static_cast<std::size_t>(every_algorithm.back()) + 1 == every_algorithm.size());

struct AlgorithmInfo;
extern const AlgorithmInfo recursive_info, summa_info;

[[nodiscard]] constexpr const AlgorithmInfo& info(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::recursive:
      break;
    case Algorithm::summa:
      return summa_info;
  }
  return recursive_info;
}

}  // namespace tessera::inline v1::dist::matmul
