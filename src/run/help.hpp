#pragma once
// The parts of an option's help, for the terminal, manual pages and completion.

#include <string>

#include "run/options.hpp"

namespace tessera::inline v1::run {

/// Returns the text in lines of at most `width` columns, the first after `indent` columns that the
/// caller writes, the others indented.
[[nodiscard]] std::string wrapped(const std::string& text, std::size_t indent, std::size_t width);

/// Returns the name of an option's value, "FILE" or "N"; "" for a flag.
[[nodiscard]] std::string value_name(const Option& option);

/// Returns "--in DATASET", or "FILE..." for a positional option that takes several words.
[[nodiscard]] std::string spelled(const Option& option);

/// Returns the first sentence of the help without its full stop.
[[nodiscard]] std::string first_sentence(const Option& option);

/// Returns the whole help: summary, choices, whether a list is allowed, default, details.
[[nodiscard]] std::string description(const Option& option);

}  // namespace tessera::inline v1::run
