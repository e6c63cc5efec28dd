// Parsing of options.

#include "c/options.hpp"

#include <algorithm>
#include <charconv>

#include "base/text.hpp"
#include "c/status.hpp"

namespace tessera::inline v1::c {
namespace {

constexpr index_t most_threads = 4096;

/// Formats its text only to throw it.
template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> problem, Args&&... args) {
  throw Error::of_argument("options", fmt::format(problem, std::forward<Args>(args)...));
}

}  // namespace

Options::Options(const char* text, std::initializer_list<const char*> names) {
  std::string_view left = text == nullptr ? "" : text;
  while (!left.empty()) {
    const std::string_view word = left.substr(0, left.find(' '));
    left.remove_prefix(std::min(left.size(), word.size() + 1));
    if (word.empty()) continue;
    const std::size_t sign = word.find('=');
    if (sign == std::string_view::npos || sign == 0 || sign + 1 == word.size())
      refuse("has '{}': must be name=value, separated by blanks", printable(word));
    const std::string_view name = word.substr(0, sign);
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      refuse("has '{}', which is not an option here{}", printable(name),
             suggestion(name, {names.begin(), names.end()}));
    }
    if (!this->text(name).empty()) refuse("has '{}' twice", name);
    values_[count_++] = {name, word.substr(sign + 1)};
  }
}

std::string_view Options::text(std::string_view name) const {
  const auto* const end = values_.begin() + count_;
  const auto* const found =
      std::find_if(values_.begin(), end, [&](const auto& value) { return value.first == name; });
  return found == end ? std::string_view{} : found->second;
}

index_t Options::number(std::string_view name, index_t low, index_t high, index_t otherwise) const {
  const std::string_view value = text(name);
  if (value.empty()) return otherwise;
  index_t result = 0;
  const char* const end = value.data() + value.size();
  const auto [at, failure] = std::from_chars(value.data(), end, result);
  if (failure != std::errc{} || at != end || result < low || result > high)
    refuse("has {}={}: must be a number in {} .. {}", name, printable(value), low, high);
  return result;
}

int Options::threads(int owned) const {
  const auto asked = static_cast<int>(number("threads", 0, most_threads, 0));
  return asked == 0 ? owned : asked;
}

void unknown_value(std::string_view option, std::string_view value,
                   const std::vector<std::string>& known) {
  refuse("has {}={}, which is not known{}", option, printable(value), suggestion(value, known));
}

}  // namespace tessera::inline v1::c
