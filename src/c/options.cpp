// Parsing of options.

#include "c/options.hpp"

#include <algorithm>
#include <charconv>

#include "base/text.hpp"
#include "c/status.hpp"

namespace tessera::inline v1::c {
namespace {

constexpr index_t most_threads = 4096;

}  // namespace

Options::Options(const char* text, std::initializer_list<const char*> names) {
  if (text == nullptr || *text == '\0') return;
  const std::vector<std::string> known(names.begin(), names.end());
  for (const std::string& word : split(text, ' ')) {
    if (word.empty()) continue;
    const std::size_t sign = word.find('=');
    expect(sign != std::string::npos && sign > 0 && sign + 1 < word.size(), "options",
           "has '{}': must be name=value, separated by blanks", printable(word));
    const std::string name = word.substr(0, sign);
    expect(std::find(known.begin(), known.end(), name) != known.end(), "options",
           "has '{}', which is not an option here{}", printable(name), suggestion(name, known));
    expect(this->text(name).empty(), "options", "has '{}' twice", name);
    values_.emplace_back(name, word.substr(sign + 1));
  }
}

std::string_view Options::text(std::string_view name) const {
  const auto found = std::find_if(values_.begin(), values_.end(),
                                  [&](const auto& value) { return value.first == name; });
  return found == values_.end() ? std::string_view{} : std::string_view(found->second);
}

index_t Options::number(std::string_view name, index_t low, index_t high, index_t otherwise) const {
  const std::string_view value = text(name);
  if (value.empty()) return otherwise;
  index_t result = 0;
  const char* const end = value.data() + value.size();
  const auto [at, failure] = std::from_chars(value.data(), end, result);
  expect(failure == std::errc{} && at == end && result >= low && result <= high, "options",
         "has {}={}: must be a number in {} .. {}", name, printable(value), low, high);
  return result;
}

int Options::threads(int owned) const {
  const auto asked = static_cast<int>(number("threads", 0, most_threads, 0));
  return asked == 0 ? owned : asked;
}

void unknown_value(std::string_view option, std::string_view value,
                   const std::vector<std::string>& known) {
  throw Error::of_argument("options", fmt::format("has {}={}, which is not known{}", option,
                                                  printable(value), suggestion(value, known)));
}

}  // namespace tessera::inline v1::c
