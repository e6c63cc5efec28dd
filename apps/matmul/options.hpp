#pragma once
// What `tessera matmul` can be told.

#include "run/options.hpp"

namespace tessera::apps::matmul {

[[nodiscard]] run::OptionSet declare();

}  // namespace tessera::apps::matmul
