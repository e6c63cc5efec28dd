#pragma once
// The answer of a run as one JSON object (--json), or nothing but errors (--quiet).

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "io/results.hpp"
#include "run/options.hpp"

namespace tessera::inline v1::run {

using Json = nlohmann::ordered_json;

/// What this process prints on standard output.
enum class Screen { text, nothing, json };

/// Returns the screen that the words of a command line or the environment ask for. Local.
[[nodiscard]] Screen screen_of(const std::vector<std::string>& words);
/// Returns the screen that the parsed options ask for.
[[nodiscard]] Screen screen_of(const Parsed& parsed);

/// The JSON object of this process (its schema: apps/manual/answer.schema.json). With --json, what
/// commands and their child processes print becomes its member "lines".
class Answer {
 public:
  /// Redirects standard output. Precondition: nothing has been printed.
  void begin(Screen screen);
  [[nodiscard]] bool is_json() const { return screen_ == Screen::json; }
  /// Sets a member of the object. No effect without --json.
  void set(const std::string& member, const Json& value);
  /// Appends to a member that is a list. No effect without --json.
  void append(const std::string& member, const Json& value);
  /// Appends rows to a table of the member "tables". units: of the columns that have one. No effect
  /// without --json.
  void add_rows(const std::string& table, const Json& units, const Json& rows);
  /// Restores standard output for a command whose output is a document.
  void let_through();
  /// Prints the object, unless that was done. Throws Error(io) if standard output is not writable.
  void print(int code);

 private:
  Screen screen_ = Screen::text;
  int output_ = -1;  ///< standard output of the process, while it is redirected
};

/// Returns the answer of this process.
[[nodiscard]] Answer& answer();

/// Prints the object of a run that a signal ends, with exit code 128 + number, unless an object was
/// printed or none is asked for. Safe in signal handlers.
void answer_stopped(int number) noexcept;

/// Sets "command" and "arguments"; before Answer::begin, so that the object of a run that a signal
/// ends at once has them, too.
void answer_command(const std::string& name, const std::vector<std::string>& arguments);

/// Sets "options": the effective value of every option and its source.
void answer_options(const OptionSet& options, const Parsed& parsed);

/// Returns a number, a text, or null for NaN, of a cell of the results.
[[nodiscard]] Json json_of(const io::Value& value);

/// Appends to "points" what the results tables `samples`, `summary` and `phases` hold of a point.
void answer_point(const std::vector<io::TableRows>& tables);

/// Appends tables of the results to the member "tables".
void answer_tables(const std::vector<io::TableRows>& tables);

/// Sets "memory": the largest planned and measured resident memory of any rank, bytes.
void answer_memory(index_t planned, index_t peak);

}  // namespace tessera::inline v1::run
