#pragma once
// Copies of files, made piece by piece: large ones take long.

#include <memory>
#include <string>

#include "base/index.hpp"
#include "io/raw_file.hpp"

namespace tessera::io {

/// A new file with the bytes, permissions, owner and extended attributes of another. Its blocks are
/// shared where the file system can (FICLONE); holes stay holes.
class FileCopy {
 public:
  enum class Owner { must_stay, should_stay };  ///< where this process may not give files away
  /// Makes the copy, without bytes yet where they are not shared. Throws Error(cannot_create, io).
  FileCopy(const std::string& from, const std::string& to, Owner owner);
  /// Copies some more, and tells whether there is more. Throws Error(cannot_create, io).
  [[nodiscard]] bool step();

 private:
  std::unique_ptr<RawFile> from_, to_;
  index_t at_ = 0, bytes_ = 0;
};

/// All of it. Throws Error(cannot_create, io).
void copy_file(const std::string& from, const std::string& to);

/// Gives a file the owner, permissions and extended attributes of another. Throws
/// Error(cannot_create).
void copy_ownership(const std::string& from, const std::string& to, FileCopy::Owner owner);

}  // namespace tessera::io
