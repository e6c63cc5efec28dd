#pragma once
// What the ranks sent, counted where the program calls MPI. All ranks are one process and share the
// counts.

#include "base/index.hpp"

namespace tessera::smpi {

struct Traffic {
  index_t messages = 0;     ///< from rank to rank
  index_t bytes = 0;        ///< in them
  index_t collectives = 0;  ///< calls, those of a rank each counted
};

[[nodiscard]] Traffic& traffic();

}  // namespace tessera::smpi
