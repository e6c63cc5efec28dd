#include "io/partials.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <mutex>

namespace tessera::inline v1::io {
namespace {

/// A list that only grows, to the maximal number of simultaneous notes, so that a signal handler
/// may traverse it at any moment.
struct Note {
  std::array<char, PATH_MAX> path{};
  std::atomic<bool> used{false};
  Note* next = nullptr;
};

std::atomic<Note*> notes{nullptr};
static_assert(std::atomic<Note*>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

std::mutex& writing() {
  static std::mutex mutex;
  return mutex;
}

template <class Wanted>
Note* find(const Wanted& wanted) {
  Note* note = notes.load();
  while (note != nullptr && !wanted(*note)) note = note->next;
  return note;
}

}  // namespace

void note_partial(const std::string& path) {
  if (path.size() >= PATH_MAX) return;  // longer than any file name
  const std::lock_guard lock(writing());
  Note* note = find([](const Note& n) { return !n.used; });
  if (note == nullptr) {
    note = new Note;
    note->next = notes.load();
    notes = note;
  }
  note->path.fill('\0');
  path.copy(note->path.data(), path.size());
  note->used = true;
}

void forget_partial(const std::string& path) {
  const std::lock_guard lock(writing());
  if (Note* note = find([&](const Note& n) { return n.used && path == n.path.data(); }))
    note->used = false;
}

void discard_partial(const std::string& path) {
  unlink(path.c_str());
  forget_partial(path);
}

bool remove_partials() noexcept {
  bool any = false;
  for (const Note* note = notes.load(); note != nullptr; note = note->next)
    if (note->used) any = unlink(note->path.data()) == 0 || any;
  for (const Note* note = notes.load(); note != nullptr;
       note = note->next)  // directories, empty by now
    if (note->used) any = rmdir(note->path.data()) == 0 || any;
  return any;
}

}  // namespace tessera::inline v1::io
