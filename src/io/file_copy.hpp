#pragma once
// Incremental copies of files: large ones take long.

#include <memory>
#include <string>

#include "base/index.hpp"
#include "io/raw_file.hpp"

namespace tessera::inline v1::io {

/// A new file with the bytes, permissions, owner and extended attributes of another. Shares blocks
/// if the file system supports it (FICLONE); holes stay holes.
class FileCopy {
 public:
  enum class Owner {
    must_stay,
    should_stay
  };  ///< if this process may not change owners: fail, or continue
  /// Creates the copy, without data unless blocks are shared. Throws Error(cannot_create, io).
  FileCopy(const std::string& from, const std::string& to, Owner owner);
  /// Copies the next part; returns whether more is left. Throws Error(cannot_create, io).
  [[nodiscard]] bool step();

 private:
  std::unique_ptr<RawFile> from_, to_;
  index_t at_ = 0, bytes_ = 0;
};

/// Copies a whole file. Throws Error(cannot_create, io).
void copy_file(const std::string& from, const std::string& to);

/// Sets the owner, permissions and extended attributes of a file to those of another. Throws
/// Error(cannot_create, io).
void copy_ownership(const std::string& from, const std::string& to, FileCopy::Owner owner);

}  // namespace tessera::inline v1::io
