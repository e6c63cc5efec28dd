#pragma once
// Notes to the user: what the program understood or could not do, without being an error.

#include <functional>
#include <string>
#include <vector>

namespace tessera::inline v1 {

/// Reports a line from within the library, to the handler of the program; without one it is lost.
void note(const std::string& line);
/// Sets the function that receives the lines of note(), from any thread; the program's own is
/// print_note.
void handle_notes(std::function<void(const std::string& line)> handler);

/// Prints a line to stderr, unless silenced, and keeps it for notes().
void print_note(const std::string& line);

/// Returns the lines of all notes of this process, in order, without a leading "note: ".
[[nodiscard]] std::vector<std::string> notes();

/// Makes print_note() keep lines without printing them, and progress lines stay away (--quiet).
void silence_notes();
[[nodiscard]] bool notes_are_silent();

}  // namespace tessera::inline v1
