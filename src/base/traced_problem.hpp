#pragma once
// The input of a traced kernel.

#include <cstdint>
#include <string>

#include "base/index.hpp"

namespace tessera::inline v1 {

/// A kernel and its problem in a simulation of loads and stores. Sizes in elements; each workload
/// reads only its own members.
struct TracedProblem {
  std::string workload;
  std::string kernel;
  index_t element_bytes = 8;
  index_t m = 0, n = 0, k = 0;  ///< matmul; transpose, stencil: m x n
  index_t pad = 0;              ///< elements between consecutive rows of a matrix or field
  index_t tile = 0;             ///< 0: chosen by the kernel
  index_t column_width = 0;
  index_t steps = 1;         ///< stencil: time steps
  std::string stencil = {};  ///< stencil: name
  index_t range = 0;         ///< sort: number of different keys
  std::uint64_t seed = 1;
};

}  // namespace tessera::inline v1
