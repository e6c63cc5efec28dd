#pragma once
// Declares the options of `tessera sort`.

#include "run/options.hpp"

namespace tessera::apps::sort {

[[nodiscard]] run::OptionSet declare();

}  // namespace tessera::apps::sort
