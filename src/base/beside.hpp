#pragma once
// Sentences beside a head, such as the name of what they are about.

#include <string>
#include <string_view>

namespace tessera {

/// Returns the head and the text after it in lines of at most `columns` (filled() in lines.hpp);
/// lines after the first are indented by the width of the head.
[[nodiscard]] std::string beside(std::string_view head, std::string_view text, std::size_t columns);

/// Prints beside() and an end of line to standard output, for its terminal.
void print_beside(std::string_view head, std::string_view text);

}  // namespace tessera
