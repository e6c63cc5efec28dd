// Published lower bounds of communication.

#include "dist/matmul/words_bound.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace tessera::inline v1::dist::matmul {

double least_words(const WordsProblem& problem) {
  std::array<double, 3> sides{static_cast<double>(problem.m), static_cast<double>(problem.n),
                              static_cast<double>(problem.k)};
  std::sort(sides.begin(), sides.end());
  const auto [least, middle, most] = sides;
  if (least == 0) return 0;
  const auto ranks = static_cast<double>(problem.ranks);
  const double products = least * middle * most / ranks;
  const double share = (least * middle + middle * most + least * most) / ranks;
  double words = 3 * std::pow(products, 2.0 / 3);
  if (ranks <= most / middle)  // only the longest side is cut
    words = (most * middle + most * least) / ranks + middle * least;
  else if (ranks <= most * middle / (least * least))  // the two longer ones are
    words = 2 * std::sqrt(products * least) + most * middle / ranks;
  if (std::pow(problem.memory, 1.5) < products)
    words = std::max(words, 2 * products / std::sqrt(problem.memory) + problem.memory);
  return std::max(0.0, words - share);
}

}  // namespace tessera::inline v1::dist::matmul
