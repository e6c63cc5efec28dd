#pragma once
// Harness of the stencil parsers: weights, sides, probes, intervals, color ranges.

#include <string>

namespace tessera::fuzz {

/// Parses the text as each of them. Accepted values must be within their bounds and round-trip
/// through text; everything else ends the process.
void check_stencil_text(const std::string& text);

}  // namespace tessera::fuzz
