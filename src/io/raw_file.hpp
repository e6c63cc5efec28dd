#pragma once
// Reads and writes of bytes at offsets of a file, for raw data; errors carry the message of errno.

#include <cstddef>
#include <span>
#include <string>

#include "base/index.hpp"

namespace tessera::inline v1::io {

/// An open file descriptor.
class RawFile {
 public:
  enum class Mode { read, read_write };
  RawFile(const std::string& path, Mode mode);  ///< throws Error(io)
  ~RawFile();
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  /// Writes all of it; throws Error (cannot_create if the device is full). Waits for the device if
  /// little of the memory that control groups leave is for the page cache (pace).
  void write_at(index_t offset, std::span<const std::byte> data) const;
  void read_at(index_t offset, std::span<std::byte> data) const;  ///< all of it, or Error(io)
  void will_read(index_t offset, index_t bytes) const;            ///< prefetches: a hint
  /// Reserves space by posix_fallocate, if the file system supports it. Throws Error(cannot_create,
  /// io).
  void reserve(index_t offset, index_t bytes) const;
  void will_sync(index_t offset, index_t bytes) const;  ///< starts writing back: a hint
  /// Bounds the pages of files that are not on the device yet, which the kernel cannot drop: if
  /// they are more than a quarter of what the control group leaves, it waits for those of this file
  /// that are being written, and starts writing the others. Groups of version 1 do not make the
  /// writer wait: the kernel kills a process when such pages fill its group. To be called after
  /// `bytes` were written.
  void pace(index_t bytes) const;
  /// Syncs to the device; returns false if the file system does not support it. Throws Error.
  [[nodiscard]] bool sync() const;
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  std::string path_;
  int descriptor_;
};

/// Returns a hidden name next to the file for incomplete output, unique to this process; a
/// terminating signal removes the file (io/partials.hpp).
[[nodiscard]] std::string partial_name(const std::string& file);
/// Returns the hidden name with that ending next to the file.
[[nodiscard]] std::string hidden_name(const std::string& file, const std::string& ending);
/// Returns the name of the scratch file of a partial or stopped output (io/output_chunks.cpp).
[[nodiscard]] inline std::string scratch_of(const std::string& partial) {
  return partial + ".elements";
}
/// Returns the hidden name of the output that a stopped run leaves to a later one.
[[nodiscard]] std::string stopped_name(const std::string& file);
/// Removes partial files of this name that killed processes of this host left.
void remove_abandoned(const std::string& file);
/// Syncs a file to the device; prints a note, once per directory, if the file system does not
/// support it. Throws Error(io, cannot_create).
void sync_file(const std::string& path);
/// As sync_file, for the names in a directory.
void sync_directory(const std::string& path);
/// Creates an empty file. Throws Error if the name exists, even as a link.
void create_new_file(const std::string& path);
/// Returns whether the path is a regular file of this user, and not a link: in directories that
/// others can write to, a name that they can guess may be their link to any file.
[[nodiscard]] bool is_own_file(const std::string& path);
/// As is_own_file, for a directory; a link of this user to it is accepted.
[[nodiscard]] bool is_own_folder(const std::string& path);
/// Renames a file; never replaces a directory, pipe or device. Throws Error.
void rename_file(const std::string& from, const std::string& to);
/// Syncs the file to the device, renames it, and syncs its new name.
void publish_file(const std::string& from, const std::string& to);
/// As publish_file, if no file of that name exists; throws Error(cannot_create) if it was
/// concurrently created.
void publish_new_file(const std::string& from, const std::string& to);
/// Resolves symbolic links, even dangling ones, so that a rename replaces the file and not a link
/// to it.
[[nodiscard]] std::string behind_links(const std::string& path);
/// Throws Error(cannot_create) if the path is a directory, pipe or device, or too long; `what`
/// names its purpose.
void require_file_or_nothing(const std::string& path, const std::string& what);
/// Returns the directory of a path as "dir/"; "./" if it has none.
[[nodiscard]] std::string directory_of(const std::string& path);
[[nodiscard]] bool file_exists(const std::string& path);
/// Returns whether both are one file, or would be if they existed (links and relative paths are
/// resolved).
[[nodiscard]] bool same_file(const std::string& a, const std::string& b);

}  // namespace tessera::inline v1::io
