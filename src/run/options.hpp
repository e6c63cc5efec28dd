#pragma once
// Declaration of options, one per option: flag, TOML key, environment variable, help text and
// attribute of the results. Precedence: flag > environment (TESSERA_<NAME>) > TOML (--config) >
// default. A list or a range is an axis of a sweep.

#include <map>
#include <string>
#include <vector>

#include "base/complex.hpp"
#include "base/index.hpp"

namespace tessera::inline v1::run {

/// complex: a real number, or one with an imaginary part in Python's notation, 1.5-2j.
enum class Kind { text, choice, integer, real, complex, bytes, flag };

/// Values of another option with which alone an option is used: {"kernel", {"tiled", "recursive"}}.
struct Users {
  std::string option = {};
  std::vector<std::string> values = {};
};

struct Option {
  std::string name = {};  ///< long flag and TOML key
  Kind kind = Kind::text;
  std::string fallback = {};  ///< default value as text; "" = not set
  /// Sentences; the first, the summary, fits in 53 columns. No full stop after a summary alone.
  std::string help = {};
  std::string group = {};                 ///< heading in the help
  std::string value = {};                 ///< its name in the help, "FILE"; "" = by the kind
  std::vector<std::string> choices = {};  ///< for Kind::choice
  bool axis = false;                      ///< may be a list or range: an axis of a sweep
  bool identity =
      true;  ///< part of a measured point's identity, unlike destinations and repetitions
  bool differs = false;  ///< may differ between ranks
  bool shared = false;   ///< of every command: what is printed, not what is done
  bool positional = false;
  bool many = false;    ///< positional: takes all remaining words
  bool nested = false;  ///< in TOML also nested lists of numbers: rows joined by ';', planes by '/'
  double low = -1e300, high = 1e300;  ///< bounds of integer, real and bytes
  Users users = {};                   ///< empty: always used
};

/// Values of all options at one point of the sweep.
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

/// Result of parsing command line, environment and file.
struct Parsed {
  std::map<std::string, std::vector<std::string>> lists;  ///< expanded values of every option
  std::map<std::string, std::string>
      sources;  ///< "flag", "environment", "file.toml:3:1", "default"
  std::vector<std::string>
      rest;          ///< unknown arguments, in order, of an OptionSet that passes them on
  std::string help;  ///< requested help: "brief", "all" or the name of a group; else empty

  [[nodiscard]] double real(const std::string& name) const;  ///< the first of its values
  [[nodiscard]] Complex<double> complex(const std::string& name) const;
};

/// Options under one heading of the help.
struct Section {
  std::string title;
  std::vector<const Option*> options;
};

/// Throws Error(usage) with the message.
[[noreturn]] void throw_usage(const std::string& message);

/// Options of one sub-command.
class OptionSet {
 public:
  /// Declares --json and --quiet, which every command has, behind the options to be added.
  OptionSet(std::string command, std::string summary, std::vector<std::string> examples);

  /// Adds an option; it replaces a shared one of the same name.
  Option& add(Option option);
  /// Sets the options that most runs need, listed first in the help.
  void lead_with(std::vector<std::string> names) { leading_ = std::move(names); }
  /// Makes parse() return unknown arguments in `rest` instead of rejecting them.
  void pass_on_rest() { passes_on_rest_ = true; }
  [[nodiscard]] const std::string& command() const { return command_; }
  [[nodiscard]] const std::string& summary() const { return summary_; }
  [[nodiscard]] const std::vector<std::string>& examples() const { return examples_; }
  [[nodiscard]] const std::vector<Option>& options() const { return options_; }
  /// Returns every option once: the leading ones, then the others by group.
  [[nodiscard]] std::vector<Section> sections() const;
  /// Returns the synopsis, "tessera locality WORKLOAD [OPTION]...".
  [[nodiscard]] std::string synopsis() const;
  /// Returns notes that hold for all options of the command, a sentence each.
  [[nodiscard]] std::vector<std::string> notes() const;

  /// Parses arguments (after the sub-command), environment and, with --config, the TOML file.
  /// Throws Error(usage, missing_input) naming the option, the nearest known one, and
  /// file:line:column for TOML.
  [[nodiscard]] Parsed parse(const std::vector<std::string>& arguments) const;

  /// Returns the points of the product of the axes, the last declared axis varying fastest. An
  /// option is no axis for values of another one that do not use it (Users): it keeps its first
  /// value.
  [[nodiscard]] std::vector<Values> points(const Parsed& parsed) const;

  /// Returns a line for each option given as a flag that no point of the sweep uses.
  [[nodiscard]] std::vector<std::string> idle_flags(const Parsed& parsed) const;

  /// Returns the identity of a point, "m=1024 n=1024 type=f64 ...", equal in every run.
  [[nodiscard]] std::string key(const Values& point) const;

  /// Returns the help in 80 columns: usage, options, examples. "brief" has the leading options, one
  /// line each; "all" these and the others by group with choices and defaults; or name a group.
  [[nodiscard]] std::string help(const std::string& what) const;

 private:
  [[nodiscard]] const Option* find(const std::string& name) const;
  [[nodiscard]] std::vector<Values> without_idle(std::vector<Values> points,
                                                 const Parsed& parsed) const;
  [[nodiscard]] std::vector<std::string> names() const;
  /// Returns the help requested by arguments -h, --help [all | GROUP]; empty: none. Throws
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

/// Returns the variable of an option: TESSERA_COLUMN_WIDTH for column-width.
[[nodiscard]] std::string environment_name(const std::string& option);

/// Parses "1.5", "-2j", "1.5-2e3j". Throws Error(usage), beginning with `where`, for other text and
/// for infinite parts.
[[nodiscard]] Complex<double> parse_complex(const std::string& text, const std::string& where);

/// Expands "a,b", "1024:4096:1024", "1024:16384:x2" or a single value and checks each against the
/// option's kind, choices and bounds. `where` begins the error message ("--n", "smoke.toml:3:5:
/// n").
[[nodiscard]] std::vector<std::string> expand(const Option& option, const std::string& text,
                                              const std::string& where);

}  // namespace tessera::inline v1::run
