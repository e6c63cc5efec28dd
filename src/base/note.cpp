#include "base/note.hpp"
#include "base/progress.hpp"

#include <unistd.h>

#include <atomic>
#include <mutex>
#include <utility>

#include "base/lines.hpp"

namespace tessera::inline v1 {
namespace {

std::atomic<bool> silent{false};
std::mutex mutex;
std::vector<std::string> kept;
std::mutex of_handler;
std::function<void(const std::string&)> handler;

}  // namespace

void note(const std::string& line) {
  std::function<void(const std::string&)> receiver;
  {
    const std::lock_guard lock(of_handler);
    receiver = handler;
  }
  if (receiver) receiver(line);
}

void handle_notes(std::function<void(const std::string&)> receiver) {
  const std::lock_guard lock(of_handler);
  handler = std::move(receiver);
}

void print_note(const std::string& line) {
  constexpr std::string_view mark = "note: ";
  const std::lock_guard lock(mutex);
  kept.push_back(line.starts_with(mark) ? line.substr(mark.size()) : line);
  if (silent) return;
  print_above_progress(filled(line, columns_of(STDERR_FILENO)));
}

std::vector<std::string> notes() {
  const std::lock_guard lock(mutex);
  return kept;
}

void silence_notes() { silent = true; }
bool notes_are_silent() { return silent; }

}  // namespace tessera::inline v1
