#pragma once
// Traffic of the ranks, counted at the program's MPI calls. All ranks share one process and its
// counts.

#include "base/index.hpp"

namespace tessera::smpi {

struct Traffic {
  index_t messages = 0;     ///< from rank to rank
  index_t bytes = 0;        ///< in them
  index_t collectives = 0;  ///< calls, counted per rank
};

[[nodiscard]] Traffic& traffic();

}  // namespace tessera::smpi
