#pragma once
// Manual pages, reference pages and completion scripts, from the declarations of the commands.

#include <span>
#include <string>

#include "run/program.hpp"

namespace tessera::apps {

/// Manual pages in the macros of man(7): tessera.1, and tessera-COMMAND.1.
[[nodiscard]] std::string man_page(std::span<const run::Command> commands);
[[nodiscard]] std::string man_page(const run::OptionSet& set);

/// Reference pages in Markdown, prose in at most 100 columns: tessera.md, and tessera-COMMAND.md.
[[nodiscard]] std::string markdown_page(std::span<const run::Command> commands);
[[nodiscard]] std::string markdown_page(const run::OptionSet& set);

/// Completion of commands, options, choices and names of files.
[[nodiscard]] std::string bash_completion(std::span<const run::Command> commands);
[[nodiscard]] std::string zsh_completion(std::span<const run::Command> commands);
[[nodiscard]] std::string fish_completion(std::span<const run::Command> commands);

/// Kind of an option's value, as far as a shell completes it.
enum class Completes { nothing, choices, files, folders };
[[nodiscard]] inline Completes completes(const run::Option& option) {
  if (!option.choices.empty()) return Completes::choices;
  if (option.value == "DATASET" || option.value == "FILE") return Completes::files;
  return option.value == "DIR" ? Completes::folders : Completes::nothing;
}

}  // namespace tessera::apps
