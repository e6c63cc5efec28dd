// Help text of a command's options.

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "run/options.hpp"

namespace tessera::run {
namespace {

/// Wraps the text at 110 columns and indents all lines after the first.
std::string wrapped(const std::string& text, std::size_t indent) {
  constexpr std::size_t width = 110;
  std::string out;
  std::size_t column = indent;
  for (const std::string& word : split(text, ' ')) {
    if (column > indent && column + 1 + word.size() > width) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}

const char* value_of(Kind kind) {
  switch (kind) {
    case Kind::flag:
      return "";
    case Kind::integer:
      return " N";
    case Kind::real:
      return " X";
    case Kind::complex:
      return " Z";
    case Kind::bytes:
      return " BYTES";
    case Kind::choice:
      return " NAME";
    case Kind::text:
      return " TEXT";
  }
  throw Error(ExitCode::internal, "an option of no kind");
}

std::string line_of(const Option& option, const std::string& text) {
  return fmt::format("  {:<24} {}\n",
                     (option.positional ? option.name : "--" + option.name) + value_of(option.kind),
                     wrapped(text, 27));
}

/// Returns the full help of an option.
std::string whole_line(const Option& option) {
  std::string text = option.help;
  if (!option.choices.empty()) text += ": " + join(option.choices, ", ");
  if (option.axis) text += " [list]";
  const bool all = option.choices.size() > 1 && option.fallback == join(option.choices, ",");
  if (!option.fallback.empty()) text += fmt::format(" (default {})", all ? "all" : option.fallback);
  return line_of(option, text);
}

/// Returns the first clause of the help, limited to a line of 80 columns.
std::string brief_line(const Option& option) {
  constexpr std::size_t room = 80 - 27;
  std::size_t end = option.help.size();
  for (const char* mark : {"; ", " (", ": ", ", "}) {
    if (end > room) end = std::min(end, option.help.find(mark));
  }
  std::string text = option.help.substr(0, end);
  const std::string fallback = fmt::format(" (default {})", option.fallback);
  if (!option.fallback.empty() && text.size() + fallback.size() <= room) text += fallback;
  return line_of(option, text);
}

bool same_word(const std::string& a, const std::string& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x == '-' ? ' ' : x) == std::tolower(y == '-' ? ' ' : y);
  });
}

}  // namespace

std::vector<std::string> OptionSet::groups() const {
  std::vector<std::string> groups;
  for (const Option& option : options_) {
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end())
      groups.push_back(option.group);
  }
  return groups;
}

std::string OptionSet::help_asked(const std::vector<std::string>& arguments) const {
  for (std::size_t a = 0; a < arguments.size(); ++a) {
    if (arguments[a] == "-h") return "brief";
    if (arguments[a] != "--help") continue;
    if (a + 1 == arguments.size() || arguments[a + 1].starts_with('-')) return "all";
    const std::string& topic = arguments[a + 1];
    const std::vector<std::string> known = groups();
    const auto group = std::find_if(known.begin(), known.end(), [&](const std::string& name) {
      return same_word(name, topic);
    });
    if (group != known.end()) return *group;
    require(topic == "all", ExitCode::usage,
            fmt::format("--help knows no '{}'; write --help all, or one of {}", topic,
                        join(known, ", ")));
    return "all";
  }
  return "";
}

std::string OptionSet::help(const std::string& what) const {
  std::string out = fmt::format("tessera {}: {}\n\nExamples:\n", command_, summary_);
  for (const std::string& example : examples_) out += "  " + example + "\n";
  const std::vector<std::string> known = groups();
  const bool brief = what == "brief" && !leading_.empty();
  if (what == "brief" || what == "all") {
    if (!leading_.empty()) out += "\nMost used:\n";
    for (const std::string& name : leading_)
      out += brief ? brief_line(*find(name)) : whole_line(*find(name));
  }
  for (const std::string& group : known) {
    if (brief || (what != "brief" && what != "all" && what != group)) continue;
    std::string lines;
    for (const Option& option : options_) {
      const bool shown = what != group &&
                         std::find(leading_.begin(), leading_.end(), option.name) != leading_.end();
      if (option.group == group && !shown) lines += whole_line(option);
    }
    if (!lines.empty()) out += "\n" + group + ":\n" + lines;
  }
  if (brief) {
    return out +
           fmt::format(
               "\n`tessera {} --help` lists all {} options, `--help GROUP` those of one of\n{}.\n",
               command_, options_.size(), join(known, ", "));
  }
  out += '\n';
  if (std::any_of(options_.begin(), options_.end(),
                  [](const Option& option) { return option.axis; })) {
    out +=
        "[list]: also a,b,c or begin:end:step or begin:end:xFACTOR, an axis of a sweep over all "
        "combinations.\n";
  }
  return out +
         fmt::format(
             "Every option is also an environment variable (TESSERA_<NAME>){}.\nOf an option given "
             "twice the last holds.\n",
             find("config") != nullptr ? " and a key of the TOML file given with --config" : "");
}

}  // namespace tessera::run
