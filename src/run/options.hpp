#pragma once
// One declaration an option: flag, TOML key, environment variable, help text and attribute of the
// results. Precedence: flag > environment (TESSERA_<NAME>) > TOML (--config) > default. A list or a
// range is an axis of a sweep.

#include <map>
#include <string>
#include <vector>

#include "base/complex.hpp"
#include "base/index.hpp"

namespace tessera::run {

/// complex: a real number, or one with an imaginary part as Python writes it, 1.5-2j.
enum class Kind { text, choice, integer, real, complex, bytes, flag };

/// Values of another option by which alone an option is used: {"kernel", {"tiled", "recursive"}}.
struct Users {
  std::string option = {};
  std::vector<std::string> values = {};
};

struct Option {
  std::string name = {};  ///< long flag and TOML key
  Kind kind = Kind::text;
  std::string fallback = {};  ///< default value as text; "" = not set
  std::string help = {};
  std::string group = {};                 ///< heading in the help
  std::vector<std::string> choices = {};  ///< for Kind::choice
  bool axis = false;                      ///< may be a list or range: an axis of a sweep
  bool identity =
      true;  ///< part of what a measured point is (not where it goes or how often it runs)
  bool differs = false;  ///< ranks may be told other values: what each has, and not what all do
  bool positional = false;
  bool many = false;  ///< positional: as many words as are given
  bool nested =
      false;  ///< in TOML also a list of lists of numbers: rows joined by ';', planes by '/'
  double low = -1e300, high = 1e300;  ///< bounds of integer, real and bytes
  Users users = {};                   ///< none named: it is always used
};

/// The value of every option at one point of the sweep.
class Values {
 public:
  [[nodiscard]] const std::string& text(const std::string& name) const;
  [[nodiscard]] bool has(const std::string& name) const { return !text(name).empty(); }
  [[nodiscard]] index_t integer(const std::string& name) const;
  [[nodiscard]] double real(const std::string& name) const;
  [[nodiscard]] Complex<double> complex(const std::string& name) const;
  [[nodiscard]] index_t bytes(const std::string& name) const;
  [[nodiscard]] bool flag(const std::string& name) const { return text(name) == "true"; }
  void set(const std::string& name, std::string value) { values_[name] = std::move(value); }
  [[nodiscard]] const std::map<std::string, std::string>& all() const { return values_; }

 private:
  std::map<std::string, std::string> values_;
};

/// What a command line, environment and file said.
struct Parsed {
  std::map<std::string, std::vector<std::string>> lists;  ///< every option's values, expanded
  std::map<std::string, std::string>
      sources;  ///< "flag", "environment", "file.toml:3:1", "default"
  std::vector<std::string>
      rest;          ///< what an OptionSet that passes it on does not know, in its order
  std::string help;  ///< "brief", "all" or the name of a group, where help is asked for; else empty

  [[nodiscard]] double real(const std::string& name) const;  ///< the first of its values
  [[nodiscard]] Complex<double> complex(const std::string& name) const;
};

/// The options of one sub-command.
class OptionSet {
 public:
  OptionSet(std::string command, std::string summary, std::vector<std::string> examples)
      : command_(std::move(command)),
        summary_(std::move(summary)),
        examples_(std::move(examples)) {}

  Option& add(Option option);
  /// The options that most runs need, first in the help.
  void lead_with(std::vector<std::string> names) { leading_ = std::move(names); }
  /// Unknown arguments are another's: parse() returns them.
  void pass_on_rest() { passes_on_rest_ = true; }
  [[nodiscard]] const std::string& command() const { return command_; }
  [[nodiscard]] const std::string& summary() const { return summary_; }
  [[nodiscard]] const std::vector<Option>& options() const { return options_; }

  /// Reads arguments (after the sub-command), environment and, where --config names one, the TOML
  /// file. Throws Error(usage, missing_input) naming the option, the nearest known one, and
  /// file:line:column for TOML.
  [[nodiscard]] Parsed parse(const std::vector<std::string>& arguments) const;

  /// Every point of the product of the axes, the last declared axis running fastest.
  [[nodiscard]] std::vector<Values> points(const Parsed& parsed) const;

  /// A line for each option that was given as a flag and that no point of the sweep uses.
  [[nodiscard]] std::vector<std::string> idle_flags(const Parsed& parsed) const;

  /// "m=1024 n=1024 type=f64 ...": the identity of a point, the same in every run.
  [[nodiscard]] std::string key(const Values& point) const;

  /// Returns the help: examples, then of "brief" the leading options, a line each, and of "all"
  /// those and the others by group, with their defaults; or the options of one group.
  [[nodiscard]] std::string help(const std::string& what) const;

 private:
  [[nodiscard]] const Option* find(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> names() const;
  /// What of the help arguments ask for: -h, --help [all | GROUP]; empty: none. Throws
  /// Error(usage).
  [[nodiscard]] std::string help_asked(const std::vector<std::string>& arguments) const;
  [[nodiscard]] std::vector<std::string> groups() const;
  void read_arguments(const std::vector<std::string>& arguments, Parsed& parsed) const;
  void read_environment(Parsed& parsed) const;
  void read_toml(const std::string& file, Parsed& parsed) const;

  std::string command_, summary_;
  std::vector<std::string> examples_;
  std::vector<Option> options_;
  std::vector<std::string> leading_;
  bool passes_on_rest_ = false;
};

/// TESSERA_COLUMN_WIDTH of column-width.
[[nodiscard]] std::string environment_name(const std::string& option);

/// "1.5", "-2j", "1.5-2e3j"; throws Error(usage) that begins with `where` for others and for
/// infinite parts.
[[nodiscard]] Complex<double> parse_complex(const std::string& text, const std::string& where);

/// The values that a text stands for: "a,b", "1024:4096:1024", "1024:16384:x2", or itself; each
/// checked against the option's kind, choices and bounds. `where` begins the error message ("--n",
/// "smoke.toml:3:5: n").
[[nodiscard]] std::vector<std::string> expand(const Option& option, const std::string& text,
                                              const std::string& where);

}  // namespace tessera::run
