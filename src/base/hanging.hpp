#pragma once
// Sentences with a hanging indent: a head, then text indented by its width.

#include <string>
#include <string_view>

namespace tessera::inline v1 {

/// Returns the head and the text after it in lines of at most `columns` (filled() in lines.hpp);
/// lines after the first are indented by the width of the head.
[[nodiscard]] std::string hanging(std::string_view head, std::string_view text,
                                  std::size_t columns);

/// Prints hanging() and an end of line to standard output, for its terminal.
void print_hanging(std::string_view head, std::string_view text);

}  // namespace tessera::inline v1
