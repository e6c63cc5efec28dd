#pragma once
// Declares the options of `tessera stencil`.

#include "run/options.hpp"

namespace tessera::apps::stencil {

[[nodiscard]] run::OptionSet declare();
/// Throws Error(usage) for requests that are invalid without inspecting files.
void check_options(const run::OptionSet& set, const run::Parsed& parsed);

}  // namespace tessera::apps::stencil
