#pragma once
// A file of others to which an output adds datasets: in a copy, which then takes its name. What the
// file holds is the same at every moment, and so is the file where the run ends before.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/file_copy.hpp"
#include "io/output_dataset.hpp"

namespace tessera::io {

class Guest {
 public:
  enum class Existing { refuse, replace };  ///< datasets of the same names

  /// Keeps others of this program from adding to the file as long as it lives, and those who keep
  /// the locks of the library from writing to it. Throws Error(io) where one of them does,
  /// Error(cannot_create) where the datasets cannot be added, or a dataset is there that is not to
  /// be replaced. Serial.
  Guest(std::string file, std::string name, std::span<const DatasetSpec> specs, Existing existing);

  /// Begins the copy, or takes one that is there. step() until it is made.
  void copy_to(const std::string& partial);
  [[nodiscard]] bool step();
  [[nodiscard]] bool is_copied() const { return !copy_; }

  /// Opens the copy and takes those datasets out of it that are replaced; of each the dimension
  /// scales stay with the places.
  [[nodiscard]] Handle open_copy(const std::string& partial, std::span<const DatasetSpec> specs,
                                 std::vector<DatasetPlace>& places) const;

  /// Tells which state of the file it is that was copied.
  [[nodiscard]] const std::string& state() const { return state_; }
  /// The same of any file; empty where there is none.
  [[nodiscard]] static std::string state_of(const std::string& file);

  /// Gives the copy the file's name. Throws Error(cannot_create) where the file has changed
  /// meanwhile.
  void publish(const std::string& partial) const;

 private:
  /// An open file; the one beside, which only is there to be locked, goes with it.
  struct FileLock {
    FileLock() = default;
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;
    ~FileLock();
    int descriptor = -1;
    std::string beside;
  };
  void take_lock();
  void keep_writers_away();
  void require_writable() const;

  std::string file_, name_;  // behind links, and as it was called
  std::string state_;
  FileLock runs_, writers_;
  std::optional<FileCopy> copy_;
};

}  // namespace tessera::io
