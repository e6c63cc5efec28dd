#include "run/help.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.hpp"

namespace tessera::inline v1::run {
namespace {

constexpr std::size_t width = 80;
constexpr std::size_t text_column = 27;

/// Upper case, for the name of a positional option.
std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::flag:
      return "";
    case Kind::integer:
      return "N";
    case Kind::real:
      return "X";
    case Kind::complex:
      return "Z";
    case Kind::bytes:
      return "BYTES";
    case Kind::choice:
      return "NAME";
    case Kind::text:
      return "TEXT";
  }
  throw Error(ExitCode::internal, "option has no kind");
}

/// Where the first sentence ends; npos: it is the whole help.
std::size_t end_of_first_sentence(const Option& option) { return option.help.find(". "); }

std::string line_of(const Option& option, const std::string& text) {
  return fmt::format("  {:<{}} {}\n", spelled(option), text_column - 3,
                     wrapped(text, text_column, width));
}

bool same_word(const std::string& a, const std::string& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x == '-' ? ' ' : x) == std::tolower(y == '-' ? ' ' : y);
  });
}

}  // namespace

std::string wrapped(const std::string& text, std::size_t indent, std::size_t columns) {
  std::string out;
  std::size_t column = indent;
  for (const std::string& word : split(text, ' ')) {
    if (column > indent && column + 1 + word.size() > columns) {
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

std::string value_name(const Option& option) {
  if (!option.value.empty()) return option.value;
  return option.positional ? upper(option.name) : name_of(option.kind);
}

std::string spelled(const Option& option) {
  const std::string value = value_name(option);
  if (option.positional) return value + (option.many ? "..." : "");
  return "--" + option.name + (value.empty() ? "" : " " + value);
}

std::string first_sentence(const Option& option) {
  return option.help.substr(0, end_of_first_sentence(option));
}

std::string description(const Option& option) {
  std::string text = first_sentence(option);
  if (!option.choices.empty()) text += ": " + join(option.choices, ", ");
  if (option.axis) text += " [list]";
  const bool all = option.choices.size() > 1 && option.fallback == join(option.choices, ",");
  if (!option.fallback.empty()) text += fmt::format(" (default {})", all ? "all" : option.fallback);
  const std::size_t end = end_of_first_sentence(option);
  return end == std::string::npos ? text : text + option.help.substr(end);
}

std::vector<std::string> OptionSet::groups() const {
  std::vector<std::string> groups;
  for (const Option& option : options_) {
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end())
      groups.push_back(option.group);
  }
  return groups;
}

std::vector<Section> OptionSet::sections() const {
  std::vector<Section> sections;
  if (!leading_.empty()) {
    sections.push_back({"Most used", {}});
    for (const std::string& name : leading_) sections.back().options.push_back(find(name));
  }
  for (const std::string& group : groups()) {
    Section section{group, {}};
    for (const Option& option : options_) {
      if (option.group == group &&
          std::find(leading_.begin(), leading_.end(), option.name) == leading_.end())
        section.options.push_back(&option);
    }
    if (!section.options.empty()) sections.push_back(std::move(section));
  }
  return sections;
}

std::string OptionSet::synopsis() const {
  std::string text = "tessera " + command_;
  for (const Option& option : options_) {
    if (!option.positional) continue;
    text += option.fallback.empty() ? " " + spelled(option) : " [" + spelled(option) + "]";
  }
  return text + " [OPTION]...";
}

std::vector<std::string> OptionSet::notes() const {
  std::vector<std::string> notes;
  if (std::any_of(options_.begin(), options_.end(),
                  [](const Option& option) { return option.axis; })) {
    notes.emplace_back(
        "[list]: also a,b,c or begin:end:step or begin:end:xFACTOR. Every combination of the lists "
        "is one point of the sweep.");
  }
  if (std::any_of(options_.begin(), options_.end(),
                  [](const Option& option) { return !option.positional; })) {
    notes.push_back(
        fmt::format("Every option is also an environment variable (TESSERA_<NAME>){}.",
                    find("config") != nullptr ? " and a key of the TOML file of --config" : ""));
    notes.emplace_back("Of an option given twice the last value applies.");
  }
  return notes;
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
            fmt::format("unknown group '{}' of options; try --help all, or one of {}", topic,
                        join(known, ", ")));
    return "all";
  }
  return "";
}

std::string OptionSet::help(const std::string& what) const {
  std::string out = fmt::format("tessera {}: {}\n\nUsage: {}\n", command_, summary_, synopsis());
  const bool brief = what == "brief" && !leading_.empty();
  if (what != "brief" && what != "all") {
    out += "\n" + what + ":\n";
    for (const Option& option : options_)
      if (option.group == what) out += line_of(option, description(option));
  } else {
    for (const Section& section : sections()) {
      out += "\n" + section.title + ":\n";
      for (const Option* option : section.options)
        out += line_of(*option, brief ? first_sentence(*option) : description(*option));
      if (brief) break;
    }
  }
  if (brief) {
    out += "\n" +
           wrapped(fmt::format("`tessera {} --help` lists all {} options, `--help GROUP` those of "
                               "one group: {}.",
                               command_, options_.size(), join(groups(), ", ")),
                   0, width) +
           "\n";
  } else {
    if (!notes().empty()) out += '\n';
    for (const std::string& note : notes()) out += wrapped(note, 0, width) + "\n";
  }
  out += "\nExamples:\n";
  for (const std::string& example : examples_) out += "  " + example + "\n";
  return out;
}

}  // namespace tessera::inline v1::run
