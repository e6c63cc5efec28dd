#pragma once
// Sentences in lines that fit a terminal.

#include <string>
#include <string_view>

namespace tessera {

/// Returns the columns of the terminal at a descriptor; otherwise those of COLUMNS, or 80.
[[nodiscard]] std::size_t columns_of(int descriptor);

/// Returns the text in lines of at most `columns`, broken at spaces where the words allow; lines
/// after the first are indented by two spaces.
[[nodiscard]] std::string filled(std::string_view text, std::size_t columns);

/// Prints the text and an end of line to standard output, filled for its terminal.
void print_filled(std::string_view text);

}  // namespace tessera
