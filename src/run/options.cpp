#include "run/options.hpp"

#include <fmt/core.h>

#include <toml++/toml.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/text.hpp"
#include "run/uses.hpp"

namespace tessera::inline v1::run {
namespace {

std::string toml_text(const toml::node& node, const std::string& where) {
  if (const auto value = node.value_exact<std::string>()) return *value;
  if (const auto value = node.value_exact<bool>()) return *value ? "true" : "false";
  if (const auto value = node.value_exact<std::int64_t>()) return std::to_string(*value);
  if (const auto value = node.value_exact<double>()) return fmt::format("{}", *value);
  throw_usage(where + ": must be a string, number, boolean or a list of them");
}

int depth_of(const toml::node& node) {
  const toml::array* list = node.as_array();
  return list == nullptr ? 0 : 1 + (list->empty() ? 0 : depth_of(list->front()));
}

/// Serialises nested lists of numbers: "1 2; 3 4 / 5 6; 7 8".
std::string nested_text(const toml::node& node, int depth, const std::string& where) {
  const toml::array* list = node.as_array();
  if (depth == 0) {
    const auto value = node.value<double>();
    if (!value || list != nullptr)
      throw_usage(where + ": must be nested lists of numbers of equal depth");
    return fmt::format("{}", *value);
  }
  if (list == nullptr || depth > 3)
    throw_usage(where + ": must be nested lists of numbers of equal depth, at most three");
  std::string text;
  for (const auto& part : *list)
    text += (text.empty() ? ""
             : depth == 3 ? " / "
             : depth == 2 ? "; "
                          : " ") +
            nested_text(part, depth - 1, where);
  return text;
}

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Returns the option as written on the command line.
std::string flag_of(const Option& option) { return (option.positional ? "" : "--") + option.name; }

/// Returns the option of an argument "--name" or "--name=..."; nullptr if it is none.
const Option* option_of(const std::vector<Option>& options, const std::string& argument) {
  if (!argument.starts_with("--")) return nullptr;
  const std::string name = argument.substr(2, argument.find('=') - 2);
  const auto found = std::find_if(options.begin(), options.end(),
                                  [&](const Option& o) { return !o.positional && o.name == name; });
  return found == options.end() ? nullptr : &*found;
}

/// Throws Error(usage) for missing and empty values (a shell's expansion of an unset variable):
/// CLI11 would take the next option as the value and an empty one as none.
void require_values(const std::vector<Option>& options, const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Option* option = option_of(options, arguments[i]);
    if (option == nullptr || option->kind == Kind::flag) continue;
    const auto equals = arguments[i].find('=');
    const bool apart = equals == std::string::npos;
    const std::string value = !apart                     ? arguments[i].substr(equals + 1)
                              : i + 1 < arguments.size() ? arguments[i + 1]
                                                         : "";
    if (value.empty() || (apart && option_of(options, value) != nullptr))
      throw_usage(
          fmt::format("'{}' requires a value; give one, or leave the option out", arguments[i]));
    if (apart) ++i;
  }
}

/// Returns the words before "--": those behind it are no options.
std::vector<std::string> before_dashes(const std::vector<std::string>& arguments) {
  return {arguments.begin(), std::find(arguments.begin(), arguments.end(), "--")};
}

}  // namespace

void throw_usage(const std::string& message) { throw Error(ExitCode::usage, message); }

std::string environment_name(const std::string& option) {
  std::string name = "TESSERA_" + option;
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return c == '-' ? '_' : static_cast<char>(std::toupper(c));
  });
  return name;
}

const std::string& Values::text(const std::string& name) const {
  const auto found = values_.find(name);
  require(found != values_.end(), ExitCode::internal, "option '" + name + "' is not declared");
  return found->second;
}
index_t Values::integer(const std::string& name) const {
  return std::strtoll(text(name).c_str(), nullptr, 10);
}
double Values::real(const std::string& name) const {
  return std::strtod(text(name).c_str(), nullptr);
}
Complex<double> Values::complex(const std::string& name) const {
  return parse_complex(text(name), name);
}
index_t Values::bytes(const std::string& name) const {
  return has(name) ? parse_bytes(text(name)) : 0;
}

double Parsed::real(const std::string& name) const {
  return std::strtod(lists.at(name).front().c_str(), nullptr);  // std::stod throws for denormal
                                                                // numbers
}

Complex<double> Parsed::complex(const std::string& name) const {
  return parse_complex(lists.at(name).front(), name);
}

OptionSet::OptionSet(std::string command, std::string summary, std::vector<std::string> examples)
    : command_(std::move(command)), summary_(std::move(summary)), examples_(std::move(examples)) {
  options_.push_back({.name = "json",
                      .kind = Kind::flag,
                      .help = "Print one JSON object instead of text. Errors and notes stay on "
                              "stderr; `tessera help json` describes the members.",
                      .group = "Screen",
                      .identity = false,
                      .shared = true});
  options_.push_back({.name = "quiet",
                      .kind = Kind::flag,
                      .help = "Print errors only",
                      .group = "Screen",
                      .identity = false,
                      .shared = true});
}

Option& OptionSet::add(Option option) {
  std::erase_if(options_, [&](const Option& old) { return old.shared && old.name == option.name; });
  const auto shared =
      std::find_if(options_.begin(), options_.end(), [](const Option& old) { return old.shared; });
  return *options_.insert(shared, std::move(option));
}

const Option* OptionSet::find(const std::string& name) const {
  const auto found = std::find_if(options_.begin(), options_.end(),
                                  [&](const Option& o) { return o.name == name; });
  return found == options_.end() ? nullptr : &*found;
}

std::vector<std::string> OptionSet::names() const {
  std::vector<std::string> result;
  for (const Option& option : options_) result.push_back(option.name);
  return result;
}

Parsed OptionSet::parse(const std::vector<std::string>& arguments) const {
  Parsed parsed;
  parsed.help = help_asked(before_dashes(arguments));
  if (!parsed.help.empty()) return parsed;
  read_arguments(arguments, parsed);
  read_environment(parsed);
  if (find("config") != nullptr && parsed.lists.contains("config"))
    read_toml(parsed.lists.at("config").front(), parsed);
  for (const Option& option : options_) {
    if (parsed.lists.contains(option.name)) continue;
    parsed.lists[option.name] = option.fallback.empty()
                                    ? std::vector<std::string>{""}
                                    : expand(option, option.fallback, flag_of(option));
    parsed.sources[option.name] = "default";
  }
  return parsed;
}

void OptionSet::read_arguments(const std::vector<std::string>& arguments, Parsed& parsed) const {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  std::map<std::string, std::string> raw;
  std::map<std::string, std::vector<std::string>> several;
  std::map<std::string, bool> flags;
  for (const Option& option : options_) {
    const std::string flag = flag_of(option);
    if (option.kind == Kind::flag) {
      app.add_flag(flag, flags[option.name]);
    } else if (option.many) {
      app.add_option(flag, several[option.name]);
    } else {
      app.add_option(flag, raw[option.name])->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    }
  }
  require_values(options_, before_dashes(arguments));
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ConversionError& error) {
    throw_usage(fmt::format("{}; pass the option alone, or with =true or =false", error.what()));
  } catch (const CLI::ParseError& error) {
    throw_usage(error.what());
  }
  if (passes_on_rest_) parsed.rest = app.remaining();
  for (const std::string& extra : passes_on_rest_ ? std::vector<std::string>{} : app.remaining()) {
    if (!extra.starts_with("--"))
      throw_usage(fmt::format("unexpected argument '{}'; see tessera {} --help", extra, command_));
    const std::string name = extra.substr(2, extra.find('=') - 2);
    throw_usage(fmt::format("unknown option --{}{}; see tessera {} --help", name,
                            suggestion(name, names()), command_));
  }
  for (const Option& option : options_) {
    if (option.kind == Kind::flag && app.count(flag_of(option)) > 0) {
      parsed.lists[option.name] = {flags[option.name] ? "true" : ""};
    } else if (option.many && !several[option.name].empty()) {
      parsed.lists[option.name] = several[option.name];
    } else if (option.kind != Kind::flag && app.count(flag_of(option)) > 0) {
      parsed.lists[option.name] = expand(option, raw[option.name], flag_of(option));
    } else {
      continue;
    }
    parsed.sources[option.name] = "flag";
  }
}

void OptionSet::read_environment(Parsed& parsed) const {
  for (const Option& option : options_) {
    if (option.positional || parsed.lists.contains(option.name)) continue;
    const std::string variable = environment_name(option.name);
    const char* value = std::getenv(variable.c_str());
    if (value == nullptr) continue;
    parsed.lists[option.name] = expand(option, value, variable);
    parsed.sources[option.name] = "environment";
  }
}

void OptionSet::read_toml(const std::string& file, Parsed& parsed) const {
  toml::table table;
  std::error_code unknown;  // reported when the file is opened
  const auto kind = std::filesystem::status(file, unknown).type();
  require(kind != std::filesystem::file_type::directory, ExitCode::missing_input,
          fmt::format("'{}' cannot be read: it is a directory; name a TOML file", file));
  require(kind != std::filesystem::file_type::fifo,
          ExitCode::missing_input,  // opening one would block until its writer opens it
          fmt::format(
              "'{}' cannot be read: it is a pipe, and every rank reads all of it; name a TOML file",
              file));
  try {
    table = toml::parse_file(std::string_view(file));
  } catch (const toml::parse_error& error) {
    const auto& at = error.source().begin;
    if (at.line == 0)
      throw Error(ExitCode::missing_input,
                  fmt::format("'{}' cannot be read: {}", file, error.description()));
    throw_usage(fmt::format("{}:{}:{}: {}", file, at.line, at.column, error.description()));
  }
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    const std::string where =
        fmt::format("{}:{}:{}", file, key.source().begin.line, key.source().begin.column);
    if (name == "study" && node.is_table()) continue;  // read by tessera study
    const Option* option = find(name);
    if (name == "config")
      throw_usage(where +
                  ": 'config' is not allowed in a config file; name files with --config only");
    if (option == nullptr) {
      throw_usage(fmt::format("{}: unknown key '{}'{}", where, name, suggestion(name, names())));
    }
    if (parsed.lists.contains(name)) continue;
    std::vector<std::string> values;
    const auto add = [&](const toml::node& value) {
      for (std::string& one :
           expand(*option, toml_text(value, where + ": " + name), where + ": " + name)) {
        values.push_back(std::move(one));
      }
    };
    if (option->nested && node.is_array()) {
      values = expand(*option, nested_text(node, depth_of(node), where + ": " + name),
                      where + ": " + name);
    } else if (const toml::array* list = node.as_array()) {
      for (const auto& value : *list) add(value);
      if (values.empty()) throw_usage(where + ": " + name + " is an empty list");
      if (values.size() > 1 && !option->axis)
        throw_usage(where + ": " + name + " takes one value, not a list");
    } else {
      add(node);
    }
    parsed.lists[name] = std::move(values);
    parsed.sources[name] = where;
  }
}

std::vector<Values> OptionSet::points(const Parsed& parsed) const {
  std::vector<Values> result(1);
  constexpr std::size_t most = 10000;  // a point takes about 5 KB
  for (const Option& option : options_) {
    const auto& values = parsed.lists.at(option.name);
    if (result.size() * values.size() > most)
      throw_usage(fmt::format(
          "the sweep has at least {} points: at most {} are supported; use shorter lists or ranges",
          result.size() * values.size(), most));
    if (values.size() == 1) {
      for (Values& point : result) point.set(option.name, values.front());
      continue;
    }
    std::vector<Values> extended;
    for (const Values& point : result) {
      for (const std::string& value : values) {
        extended.push_back(point);
        extended.back().set(option.name, value);
      }
    }
    result = std::move(extended);
  }
  return without_idle(std::move(result), parsed);
}

std::vector<Values> OptionSet::without_idle(std::vector<Values> points,
                                            const Parsed& parsed) const {
  std::set<std::string> seen;
  std::vector<Values> result;
  for (Values& point : points) {
    for (const Option& option : options_) {
      if (parsed.lists.at(option.name).size() == 1 || uses(point, option)) continue;
      point.set(option.name, parsed.lists.at(option.name).front());
    }
    std::string all;
    for (const Option& option : options_) all += point.text(option.name) + '\n';
    if (seen.insert(std::move(all)).second) result.push_back(std::move(point));
  }
  return result;
}

std::vector<std::string> OptionSet::idle_flags(const Parsed& parsed) const {
  std::vector<std::string> lines;
  for (const Option& option : options_) {
    const Option* const user = find(option.users.option);
    const auto& given = parsed.lists.at(option.name);
    if (user == nullptr || parsed.sources.at(option.name) != "flag" ||
        given == std::vector<std::string>{option.fallback})
      continue;
    const auto& users = option.users.values;
    const auto& taken = parsed.lists.at(user->name);
    if (std::any_of(taken.begin(), taken.end(),
                    [&](const auto& value) { return contains(users, value); }))
      continue;
    std::vector<std::string> known;  // values that this build supports
    std::copy_if(users.begin(), users.end(), std::back_inserter(known),
                 [&](const std::string& value) {
                   return value != "auto" && contains(user->choices, value);
                 });
    lines.push_back(
        fmt::format("{} has no effect: it applies to {}", flag_of(option),
                    known.empty() ? "GPU kernels" : flag_of(*user) + " " + join(known, ", ")));
  }
  return lines;
}

std::string OptionSet::key(const Values& point) const {
  std::string key = command_;
  for (const Option& option : options_) {
    if (option.identity && point.has(option.name))
      key += fmt::format(" {}={}", option.name, point.text(option.name));
  }
  return key;
}

}  // namespace tessera::inline v1::run
