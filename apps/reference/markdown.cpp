// Reference pages in Markdown.

#include <fmt/core.h>

#include "facts.hpp"
#include "reference.hpp"
#include "run/help.hpp"

namespace tessera::apps {
namespace {

constexpr std::size_t columns = 100;

/// `text` as Markdown shows it.
std::string plain(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '*' || c == '_' || c == '[' || c == ']' || c == '<' || c == '>' || c == '|')
      out += '\\';
    out += c;
  }
  return out;
}

std::string item(const std::string& code, const std::string& text) {
  return "- " + run::wrapped("`" + code + "`: " + plain(text), 2, columns) + "\n";
}

std::string tables() {
  std::string out = "\n## Exit status\n\n";
  for (const ExitText& row : exit_texts()) out += item(std::to_string(row.code), row.text);
  out += "\n## Environment\n\n";
  for (const Variable& row : variables()) out += item(std::string(row.name), row.text);
  return out;
}

}  // namespace

std::string markdown_page(const run::OptionSet& set) {
  std::string out =
      fmt::format("# tessera {}\n\n{}\n\n```sh\n{}\n```\n", set.command(),
                  run::wrapped(plain(set.summary()) + ".", 0, columns), set.synopsis());
  for (const run::Section& section : set.sections()) {
    out += "\n## " + section.title + "\n\n";
    for (const run::Option* option : section.options)
      out += item(run::spelled(*option), run::description(*option));
  }
  out += "\n## Notes\n\n";
  for (const std::string& note : set.notes())
    out += "- " + run::wrapped(plain(note), 2, columns) + "\n";
  out += "\n## Examples\n\n```sh\n";
  for (const std::string& example : set.examples()) out += example + "\n";
  const std::string page = page_of(set.command());
  return out + "```\n\nSee also: [" + page + "](../" + page + "), [tessera](tessera.md).\n";
}

std::string markdown_page(std::span<const run::Command> commands) {
  std::string out = "# tessera\n\n## Commands\n\n";
  for (const run::Command& command : commands) {
    const std::string& name = command.options.command();
    out += "- " +
           run::wrapped(fmt::format("[{}](tessera-{}.md): {}.", name, name,
                                    plain(command.options.summary())),
                        2, columns) +
           "\n";
  }
  out += "\n## Topics\n\nPrinted by `tessera help TOPIC`.\n\n";
  for (const Topic& topic : topics()) {
    out += item(std::string(topic.name), fmt::format("{} (see {}).", topic.summary, topic.page));
  }
  return out + tables();
}

}  // namespace tessera::apps
