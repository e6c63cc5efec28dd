#include "base/lines.hpp"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "base/hanging.hpp"
#include "base/text.hpp"

namespace tessera::inline v1 {

std::size_t columns_of(int descriptor) {
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* const variable = std::getenv("COLUMNS");
  const long columns = variable == nullptr ? 0 : std::strtol(variable, nullptr, 10);
  return columns > 0 ? static_cast<std::size_t>(columns) : 80;
}

namespace {

/// Returns the words of a text; a number and the word after it, its unit, are one.
std::vector<std::string> unbroken(std::string_view text) {
  std::vector<std::string> result;
  bool number = false;
  for (const std::string& word : split(text, ' ')) {
    if (number)
      result.back() += " " + word;
    else
      result.push_back(word);
    number = word.find_first_of("0123456789") == 0 &&
             word.find_first_not_of("0123456789.e+-") == std::string::npos;
  }
  return result;
}

/// Returns the text in lines of at most `columns`; the first begins after `used` columns, the
/// others are indented by `indent` spaces.
std::string broken(std::string_view text, std::size_t columns, std::size_t used,
                   std::size_t indent) {
  std::string lines;
  bool begins = true;
  for (const std::string& word : unbroken(text)) {
    const bool fits = begins || used + 1 + word.size() <= columns;
    if (!fits) {
      lines += "\n" + std::string(indent, ' ');
      used = indent;
    } else if (!begins) {
      lines += ' ';
      ++used;
    }
    lines += word;
    used += word.size();
    begins = false;
  }
  return lines;
}

}  // namespace

std::string filled(std::string_view text, std::size_t columns) {
  return broken(text, columns, 0, 2);
}

std::string hanging(std::string_view head, std::string_view text, std::size_t columns) {
  return std::string(head) + broken(text, columns, head.size(), head.size());
}

void print_filled(std::string_view text) {
  fmt::print("{}\n", filled(text, columns_of(STDOUT_FILENO)));
}

void print_hanging(std::string_view head, std::string_view text) {
  fmt::print("{}\n", hanging(head, text, columns_of(STDOUT_FILENO)));
}

}  // namespace tessera::inline v1
