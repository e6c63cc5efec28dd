#pragma once
// What a kernel is traced on.

#include <cstdint>
#include <string>

#include "base/index.hpp"

namespace tessera {

/// A kernel and what it works on while a simulator looks at its loads and stores. Sizes in
/// elements; each workload uses what concerns it.
struct TracedProblem {
  std::string workload;
  std::string kernel;
  index_t element_bytes = 8;
  index_t m = 0, n = 0, k = 0;  ///< matmul; transpose, stencil: m x n
  index_t pad = 0;              ///< elements between the rows of a matrix or field
  index_t tile = 0;             ///< 0: the kernel's own choice
  index_t column_width = 0;
  index_t steps = 1;         ///< stencil: time steps
  std::string stencil = {};  ///< stencil: its name
  index_t range = 0;         ///< sort: different keys
  std::uint64_t seed = 1;
};

}  // namespace tessera
