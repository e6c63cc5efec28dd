#pragma once
// What `tessera sort` can be told.

#include "run/options.hpp"

namespace tessera::apps::sort {

[[nodiscard]] run::OptionSet declare();

}  // namespace tessera::apps::sort
