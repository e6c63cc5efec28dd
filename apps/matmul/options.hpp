#pragma once
// Declares the options of `tessera matmul`.

#include "run/options.hpp"

namespace tessera::apps::matmul {

[[nodiscard]] run::OptionSet declare();

}  // namespace tessera::apps::matmul
