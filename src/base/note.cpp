#include "base/note.hpp"
#include "base/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <mutex>

#include "base/lines.hpp"

namespace tessera {
namespace {

std::atomic<bool> silent{false};
std::mutex mutex;
std::vector<std::string> kept;

}  // namespace

void print_note(const std::string& line) {
  constexpr std::string_view mark = "note: ";
  const std::lock_guard lock(mutex);
  kept.push_back(line.starts_with(mark) ? line.substr(mark.size()) : line);
  if (silent) return;
  clear_progress_line();
  fmt::print(stderr, "{}\n", filled(line, columns_of(STDERR_FILENO)));
}

std::vector<std::string> notes() {
  const std::lock_guard lock(mutex);
  return kept;
}

void silence_notes() { silent = true; }
bool notes_are_silent() { return silent; }

}  // namespace tessera
