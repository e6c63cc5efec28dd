#pragma once
// What the program alone knows: exit codes, environment variables, topics of `tessera help`. Help,
// manual pages and reference pages are generated from these tables.

#include <span>
#include <string>
#include <string_view>

namespace tessera::apps {

struct ExitText {
  int code;
  const char* text;
};
[[nodiscard]] std::span<const ExitText> exit_texts();

/// A variable of the environment, other than TESSERA_<OPTION>.
struct Variable {
  std::string_view name;
  const char* text;
};
[[nodiscard]] std::span<const Variable> variables();

/// A subject of `tessera help TOPIC`, and the page of the manual that explains it.
struct Topic {
  std::string_view name;
  const char* summary;
  const char* page;
  std::string (*text)();
};
[[nodiscard]] std::span<const Topic> topics();

/// Returns the page of the manual about a command, "sort.md".
[[nodiscard]] std::string page_of(std::string_view command);

/// Returns the first words of every page: name and version of the program.
[[nodiscard]] std::string program_title();

}  // namespace tessera::apps
