#pragma once
// Sentences in lines that fit a terminal.

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <utility>

namespace tessera::inline v1 {

/// Returns the columns of the terminal at a descriptor; otherwise those of COLUMNS, or 80.
[[nodiscard]] std::size_t columns_of(int descriptor);

/// Returns the text in lines of at most `columns`, broken at spaces where the words allow, but not
/// between a number and its unit; lines after the first are indented by two spaces.
[[nodiscard]] std::string filled(std::string_view text, std::size_t columns);

/// Prints the text and an end of line to standard output, filled for its terminal.
void print_filled(std::string_view text);
template <class First, class... Rest>
void print_filled(fmt::format_string<First, Rest...> format, First&& first, Rest&&... rest) {
  print_filled(fmt::format(format, std::forward<First>(first), std::forward<Rest>(rest)...));
}

}  // namespace tessera::inline v1
