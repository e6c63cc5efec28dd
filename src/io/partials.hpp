#pragma once
// The files of this process that have not got their names yet: a signal that ends it takes them
// away.

#include <string>

namespace tessera::io {

/// Notes a file, or an empty folder to be, that means nothing to anybody once this process has
/// ended.
void note_partial(const std::string& path);
/// It has got its name, or is gone.
void forget_partial(const std::string& path);
/// Removes the file and forgets it.
void discard_partial(const std::string& path);

/// Removes all that are noted; whether there was one. Makes only calls that a signal handler may
/// make.
bool remove_partials() noexcept;

}  // namespace tessera::io
