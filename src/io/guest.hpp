#pragma once
// Addition of datasets to a foreign file (not an output of Tessera): in a copy, which is renamed at
// the end. The file is consistent at every moment, and unchanged if the run ends early.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/file_copy.hpp"
#include "io/output_dataset.hpp"

namespace tessera::inline v1::io {

class Guest {
 public:
  enum class Existing { refuse, replace };  ///< treatment of datasets of the same names

  /// Prevents other runs of Tessera from adding to the file during its lifetime, and programs that
  /// respect the library's locks from writing to it. Throws Error(io) if one of them does,
  /// Error(cannot_create) if the datasets cannot be added, or one exists that must not be replaced.
  /// Serial.
  Guest(std::string file, std::string name, std::span<const DatasetSpec> specs, Existing existing);

  /// Begins the copy; step() continues it and returns whether it is incomplete.
  void copy_to(const std::string& partial);
  [[nodiscard]] bool step();
  [[nodiscard]] bool is_copied() const { return !copy_; }

  /// Opens the copy and removes the datasets to be replaced; their dimension scales are kept in
  /// `places`.
  [[nodiscard]] Handle open_copy(const std::string& partial, std::span<const DatasetSpec> specs,
                                 std::vector<DatasetPlace>& places) const;

  /// Returns the state (device, inode, size, time of modification) of the file that was copied.
  [[nodiscard]] const std::string& state() const { return state_; }
  /// Returns the state of any file; empty if it does not exist.
  [[nodiscard]] static std::string state_of(const std::string& file);

  /// Renames the copy to the file. Throws Error(cannot_create) if the file was concurrently
  /// modified.
  void publish(const std::string& partial) const;

 private:
  /// An open file; a separate lock file is removed with it.
  struct FileLock {
    FileLock() = default;
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;
    ~FileLock();
    int descriptor = -1;
    std::string sibling;
  };
  void take_lock();
  void lock_out_writers();
  void require_writable() const;

  std::string file_, name_;  // with links resolved, and as given
  std::string state_;
  FileLock runs_, writers_;
  std::optional<FileCopy> copy_;
};

}  // namespace tessera::inline v1::io
