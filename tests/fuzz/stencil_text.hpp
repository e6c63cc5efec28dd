#pragma once
// The harness of what parses stencils: weights, sides, probes, intervals, color ranges.

#include <string>

namespace tessera::fuzz {

/// Reads the text as each of them. What is accepted must be in its bounds, and read the same again
/// when it is written out; everything else ends the process.
void check_stencil_text(const std::string& text);

}  // namespace tessera::fuzz
