#include "base/lines.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "base/text.hpp"

namespace tessera {

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

}  // namespace

std::string filled(std::string_view text, std::size_t columns) {
  std::string lines;
  std::size_t used = 0;
  for (const std::string& word : unbroken(text)) {
    const bool fits = used + 1 + word.size() <= columns;
    if (used > 0) lines += fits ? " " : "\n  ";
    lines += word;
    used = used > 0 && fits ? used + 1 + word.size() : (used > 0 ? 2 : 0) + word.size();
  }
  return lines;
}

void print_filled(std::string_view text) {
  fmt::print("{}\n", filled(text, columns_of(STDOUT_FILENO)));
}

}  // namespace tessera
