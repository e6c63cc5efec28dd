// tessera help: help, topics, manual pages, completion.

#include <fmt/core.h>

#include <filesystem>
#include <fstream>

#include "commands/command.hpp"
#include "reference/facts.hpp"
#include "reference/reference.hpp"

namespace tessera::apps {
namespace {

const run::CommandRow* row_of(std::string_view name) {
  for (const run::CommandRow& row : command_rows())
    if (row.name == name) return &row;
  return nullptr;
}

std::vector<Command> all_commands() {
  std::vector<Command> commands;
  for (const run::CommandRow& row : command_rows()) commands.push_back(row.make());
  return commands;
}

/// The general help, the whole help of a command, or the text of a topic.
std::string text_of(const std::string& subject) {
  for (const Topic& topic : topics()) {
    if (topic.name == subject)
      return fmt::format("tessera {}: {}\n\n{}\nManual: share/doc/tessera/apps/manual/{}\n",
                         subject, topic.summary, topic.text(), topic.page);
  }
  if (const run::CommandRow* row = row_of(subject)) return row->make().options.help("all");
  return general_help(all_commands());
}

/// A page about one command, or about the program.
std::string page_about(const std::string& subject, const std::string& format) {
  const bool man = format == "man";
  if (const run::CommandRow* row = row_of(subject)) {
    const Command command = row->make();
    return man ? man_page(command.options) : markdown_page(command.options);
  }
  require(subject == "general", ExitCode::usage,
          fmt::format("--format {} requires a command: '{}' is a topic; try tessera help {}",
                      format, subject, subject));
  return man ? man_page(all_commands()) : markdown_page(all_commands());
}

void write(const std::filesystem::path& file, const std::string& text) {
  std::error_code error;
  std::filesystem::create_directories(file.parent_path(), error);
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  require(!error && out.good(), ExitCode::cannot_create,
          fmt::format("file '{}' cannot be written; try another --folder", file.string()));
}

/// Every page and script, named as they are installed.
void write_all(const std::filesystem::path& folder) {
  const std::vector<Command> commands = all_commands();
  write(folder / "man1/tessera.1", man_page(commands));
  write(folder / "reference/tessera.md", markdown_page(commands));
  for (const Command& command : commands) {
    const std::string name = "tessera-" + command.options.command();
    write(folder / "man1" / (name + ".1"), man_page(command.options));
    write(folder / "reference" / (name + ".md"), markdown_page(command.options));
  }
  write(folder / "bash/tessera", bash_completion(commands));
  write(folder / "zsh/_tessera", zsh_completion(commands));
  write(folder / "fish/tessera.fish", fish_completion(commands));
}

Body print_help(const run::Parsed& parsed, const Arguments&, ExitCode&) {
  const std::string& subject = parsed.lists.at("topic").front();
  const std::string& format = parsed.lists.at("format").front();
  const std::string& folder = parsed.lists.at("folder").front();
  if (format == "all") {
    require(!folder.empty(), ExitCode::usage, "--format all requires --folder DIR");
    write_all(folder);
  } else if (format == "text") {
    fmt::print("{}", text_of(subject));
  } else if (format == "bash") {
    fmt::print("{}", bash_completion(all_commands()));
  } else if (format == "zsh") {
    fmt::print("{}", zsh_completion(all_commands()));
  } else if (format == "fish") {
    fmt::print("{}", fish_completion(all_commands()));
  } else {
    fmt::print("{}", page_about(subject, format));
  }
  return {};
}

}  // namespace

Command help_command() {
  run::OptionSet set("help", "Print help, manual pages, or completion for a shell",
                     {"tessera help sort", "tessera help exit-codes",
                      "tessera help sort --format man > tessera-sort.1",
                      "source <(tessera help --format bash)   # completion in this shell"});
  std::vector<std::string> subjects{"general"};
  for (const Topic& topic : topics()) subjects.emplace_back(topic.name);
  for (const run::CommandRow& row : command_rows()) subjects.emplace_back(row.name);
  set.add({.name = "topic",
           .kind = run::Kind::choice,
           .fallback = "general",
           .help = "Select a command or a topic",
           .group = "Subject",
           .choices = std::move(subjects),
           .positional = true});
  set.add({.name = "format",
           .kind = run::Kind::choice,
           .fallback = "text",
           .help = "Select the format. man and markdown: the page of a command or of the program. "
                   "bash, zsh, fish: a completion script. all: every page and script, in --folder.",
           .group = "Output",
           .choices = {"text", "man", "markdown", "bash", "zsh", "fish", "all"}});
  set.add({.name = "folder",
           .help = "Write the files of --format all to DIR",
           .group = "Output",
           .value = "DIR"});
  return {set, print_help, RankScope::without_mpi};
}

}  // namespace tessera::apps
