#pragma once
// Bytes at an offset of a file, with errno's own words: the path that raw data takes.

#include <cstddef>
#include <span>
#include <string>

#include "base/index.hpp"

namespace tessera::io {

/// An open file descriptor.
class RawFile {
 public:
  enum class Mode { read, read_write };
  RawFile(const std::string& path, Mode mode);  ///< throws Error(io)
  ~RawFile();
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  void write_at(index_t offset,
                std::span<const std::byte> data) const;  ///< all of it, or Error (73 when full)
  void read_at(index_t offset, std::span<std::byte> data) const;  ///< all of it, or Error(io)
  void will_read(index_t offset, index_t bytes) const;  ///< a hint: the device may begin now
  /// posix_fallocate: the space is there from now on, or Error(cannot_create).
  void reserve(index_t offset, index_t bytes) const;
  void will_sync(index_t offset, index_t bytes) const;  ///< a hint: the way to the medium may begin
  /// To the medium, or Error. False where the file system cannot.
  [[nodiscard]] bool sync() const;
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  std::string path_;
  int descriptor_;
};

/// A hidden name beside the file for what is not complete yet; no other process takes it, and a
/// signal that ends this one takes away what is there (io/partials.hpp).
[[nodiscard]] std::string partial_name(const std::string& file);
/// The hidden name beside the file that has such an ending.
[[nodiscard]] std::string hidden_name(const std::string& file, const std::string& ending);
/// The one for what a stopped run leaves to a later one.
[[nodiscard]] std::string stopped_name(const std::string& file);
/// Removes partial files of this name that processes of this host left when they were killed.
void remove_abandoned(const std::string& file);
/// Brings a file to the medium, and says so once for each folder where the file system cannot.
/// Throws Error(io, cannot_create).
void sync_file(const std::string& path);
/// The same of the names in a folder.
void sync_directory(const std::string& path);
/// An empty file of this name, where there was nothing, no link either; Error.
void create_new_file(const std::string& path);
/// Whether it is a regular file of this user, not behind a link: of names that others can guess, in
/// folders that they can write to, another one may lead anywhere.
[[nodiscard]] bool is_own_file(const std::string& path);
/// The same of a folder; a link of this user's may lead there.
[[nodiscard]] bool is_own_folder(const std::string& path);
/// rename, or Error; nothing takes the place of a pipe or a device.
void rename_file(const std::string& from, const std::string& to);
/// Brings the file to the medium, renames it, and brings its new name there too.
void publish_file(const std::string& from, const std::string& to);
/// The same where there is no file of that name; Error(cannot_create) where one has come since
/// somebody looked.
void publish_new_file(const std::string& from, const std::string& to);
/// What a path leads to through symbolic links, there or not: what is renamed to it takes the place
/// of the file, and not of a link to it.
[[nodiscard]] std::string behind_links(const std::string& path);
/// Error(cannot_create) where the path is a folder, a pipe or a device, or too long; `what` says
/// what it was meant for.
void require_file_or_nothing(const std::string& path, const std::string& what);
/// "dir/" of a path, "./" when it has none.
[[nodiscard]] std::string directory_of(const std::string& path);
[[nodiscard]] bool file_exists(const std::string& path);
/// Both are one file, or would be if they existed (links and relative paths seen through).
[[nodiscard]] bool same_file(const std::string& a, const std::string& b);

}  // namespace tessera::io
