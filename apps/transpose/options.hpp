#pragma once
// Declares the options of `tessera transpose`.

#include "run/options.hpp"

namespace tessera::apps::transpose {

[[nodiscard]] run::OptionSet declare();
/// Throws Error(usage) for requests that are invalid without inspecting files.
void check_options(const run::OptionSet& set, const run::Parsed& parsed);

}  // namespace tessera::apps::transpose
