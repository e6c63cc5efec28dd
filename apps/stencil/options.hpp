#pragma once
// What `tessera stencil` can be told.

#include "run/options.hpp"

namespace tessera::apps::stencil {

[[nodiscard]] run::OptionSet declare();
/// Refuses what no rank needs to look at files for. Throws Error(usage).
void check_options(const run::OptionSet& set, const run::Parsed& parsed);

}  // namespace tessera::apps::stencil
