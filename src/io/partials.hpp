#pragma once
// The incomplete files of this process, which a terminating signal removes.

#include <string>

namespace tessera::inline v1::io {

/// Notes a file, or a directory that will be empty, that is useless after this process has ended.
void note_partial(const std::string& path);
/// Removes the note of a file that was renamed or deleted.
void forget_partial(const std::string& path);
/// Deletes the file and its note.
void discard_partial(const std::string& path);

/// Deletes all noted files; returns whether there were any. Async-signal-safe.
bool remove_partials() noexcept;

}  // namespace tessera::inline v1::io
