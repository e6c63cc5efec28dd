#include "io/raw_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <mutex>
#include <random>
#include <set>

#include "base/directory.hpp"
#include "base/note.hpp"
#include "base/option_names.hpp"
#include "base/progress.hpp"
#include "base/text.hpp"
#include "io/partials.hpp"
#include "machine/control_group.hpp"
#include "mpi/runtime.hpp"

namespace tessera::inline v1::io {
namespace {

[[noreturn]] void fail(int error, const std::string& what) {
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  throw Error(full ? ExitCode::cannot_create : ExitCode::io,
              fmt::format("{}: {}{}", what, std::strerror(error),
                          full ? "; free some space or write elsewhere" : ""));
}

/// Returns ".name"; for a name that leaves no room for an ending (names have at most 255 bytes, a
/// host's name up to 64), its beginning and a hash.
std::string hidden_stem(const std::string& file) {
  constexpr std::size_t most = 160, kept = most - 17;
  const std::string name = std::filesystem::path(file).filename().string();
  return "." + (name.size() <= most ? name
                                    : fmt::format("{}-{:016x}", name.substr(0, kept),
                                                  std::hash<std::string>()(name)));
}

std::string partial_prefix(const std::string& file) {
  return fmt::format("{}.partial-{}-", hidden_stem(file), mpi::host_name());
}

/// Returns whether a process runs. A killed process whose parent has not waited for it still has
/// its id, but no program.
bool is_running(long pid) {
  std::array<char, 8> name{};
  const std::string program = fmt::format("/proc/{}/exe", pid);
  if (readlink(program.c_str(), name.data(), name.size()) < 0 && errno == ENOENT) return false;
  return kill(static_cast<pid_t>(pid), 0) == 0 || errno != ESRCH;
}

/// Returns whether fsync failed because the file system does not support it.
bool cannot_sync(int error) {
  return error == EINVAL || error == ENOSYS || error == EROFS || error == EOPNOTSUPP;
}

/// Prints a note, once per directory, that fsync has no effect there.
void warn_not_synced(const std::string& directory, int error) {
  static std::mutex mutex;
  static std::set<std::string> warned;
  const std::lock_guard lock(mutex);
  if (!warned.insert(directory).second) return;
  note(fmt::format(
      "note: files in '{}' cannot be synced to the device (fsync: {}): they may be lost if "
      "the machine fails",
      directory, std::strerror(error)));
}

constexpr std::size_t call_bytes = std::size_t{1}
                                   << 30;  // Linux transfers less than 2 GiB per call
constexpr index_t hint_bytes = index_t{1} << 20;
constexpr index_t paced_bytes = index_t{1} << 20;  // written between two calls of pace()

}  // namespace

RawFile::RawFile(const std::string& path, Mode mode)
    : path_(path),
      descriptor_(
          open(path.c_str(), (mode == Mode::read ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NOFOLLOW)) {
  if (descriptor_ < 0) fail(errno, "'" + path + "' cannot be opened");
}

RawFile::~RawFile() { close(descriptor_); }

void RawFile::write_at(index_t offset, std::span<const std::byte> data) const {
  while (!data.empty()) {
    const auto written =
        pwrite(descriptor_, data.data(), std::min(data.size(), std::size_t{paced_bytes}), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      fail(written < 0 ? errno : EIO,
           fmt::format("{} cannot be written to '{}'", human_bytes(data.size()), path_));
    }
    offset += written;
    work_done().bytes_written += written;
    data = data.subspan(static_cast<std::size_t>(written));
    pace(written);
  }
}

void RawFile::read_at(index_t offset, std::span<std::byte> data) const {
  while (!data.empty()) {
    const auto got = pread(descriptor_, data.data(), std::min(data.size(), call_bytes), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail(got < 0 ? errno : EIO, fmt::format("'{}' cannot be read back", path_));
    offset += got;
    work_done().bytes_read += got;
    data = data.subspan(static_cast<std::size_t>(got));
  }
}

void RawFile::will_read(index_t offset, index_t bytes) const {
  // In a single call, Linux 6 took three times as long for 134 MB as reading them.
  for (const index_t end = offset + bytes; offset < end; offset += hint_bytes)
    posix_fadvise(descriptor_, offset, std::min(end - offset, hint_bytes), POSIX_FADV_WILLNEED);
}

void RawFile::reserve(index_t offset, index_t bytes) const {
  if (bytes == 0) return;
  int rc = EINTR;
  while (rc == EINTR) rc = posix_fallocate(descriptor_, offset, bytes);
  if (rc == EOPNOTSUPP || rc == EINVAL)
    return;  // the file system does not support it; writing will report lack of space
  if (rc != 0) fail(rc, fmt::format("{} cannot be reserved for '{}'", human_bytes(bytes), path_));
}

void RawFile::will_sync(index_t offset, index_t bytes) const {
#ifdef SYNC_FILE_RANGE_WRITE
  sync_file_range(descriptor_, offset, bytes, SYNC_FILE_RANGE_WRITE);
#else
  static_cast<void>(offset), static_cast<void>(bytes);
#endif
}

void RawFile::pace(index_t bytes) const {
#ifdef SYNC_FILE_RANGE_WRITE
  constexpr index_t most = index_t{16} << 20;
  static std::atomic<index_t> until_look = paced_bytes;  // bytes of all threads and files
  if ((until_look -= bytes) > 0) return;
  const machine::GroupMemory group = machine::control_group_memory();
  until_look = std::clamp(group.left / 64, paced_bytes, most);
  if (group.unwritten > group.left / 4)
    sync_file_range(descriptor_, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE);
#else
  static_cast<void>(bytes);
#endif
}

bool RawFile::sync() const {
  if (fsync(descriptor_) == 0) return true;
  if (!cannot_sync(errno)) fail(errno, "'" + path_ + "' cannot be synced");
  return false;
}

void sync_file(const std::string& path) {
  const RawFile file(path, RawFile::Mode::read_write);
  if (!file.sync()) warn_not_synced(directory_of(path), errno);
}

void sync_directory(const std::string& path) {
  const int directory = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int error = directory >= 0 && fsync(directory) == 0 ? 0 : errno;
  if (directory >= 0) close(directory);
  if (error == EACCES || cannot_sync(error)) return warn_not_synced(path, error);
  if (error != 0)
    fail(error,
         fmt::format("folder '{}' cannot be synced, so that new names in it may be lost", path));
}

std::string partial_name(const std::string& file) {
  std::string name = directory_of(file) + partial_prefix(file) +
                     fmt::format("{}-{:08x}", getpid(), std::random_device()());
  note_partial(name);
  return name;
}

std::string hidden_name(const std::string& file, const std::string& ending) {
  return directory_of(file) + hidden_stem(file) + ending;
}

std::string stopped_name(const std::string& file) { return hidden_name(file, ".stopped"); }

void remove_abandoned(const std::string& file) {
  const std::string prefix = partial_prefix(file);
  std::error_code ignored;
  for (const std::string& name : names_in(directory_of(file))) {
    if (!name.starts_with(prefix)) continue;
    const long pid = std::strtol(name.c_str() + prefix.size(), nullptr, 10);
    if (pid > 0 && !is_running(pid)) std::filesystem::remove(directory_of(file) + name, ignored);
  }
}

void create_new_file(const std::string& path) {
  const int descriptor =
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (descriptor < 0) fail(errno, "'" + path + "' cannot be created");
  close(descriptor);
}

bool is_own_file(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid();
}

bool is_own_folder(const std::string& path) {
  struct stat itself {
  }, behind{};
  return lstat(path.c_str(), &itself) == 0 && itself.st_uid == geteuid() &&
         stat(path.c_str(), &behind) == 0 && S_ISDIR(behind.st_mode) && behind.st_uid == geteuid();
}

void require_file_or_nothing(const std::string& path, const std::string& what) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  require(error != std::errc::filename_too_long, ExitCode::cannot_create,
          fmt::format("{} '{}' has too long a name; choose a shorter one", what, path));
  require(!std::filesystem::is_directory(status), ExitCode::cannot_create,
          fmt::format("{} '{}' is a directory; name a file", what, path));
  require(!std::filesystem::exists(status) || std::filesystem::is_regular_file(status),
          ExitCode::cannot_create,
          fmt::format("{} '{}' is a pipe or device; name a regular file", what, path));
}

void rename_file(const std::string& from, const std::string& to) {
  require_file_or_nothing(to, "output");
  if (std::rename(from.c_str(), to.c_str()) != 0)
    fail(errno, fmt::format("'{}' cannot be renamed to '{}'", from, to));
  forget_partial(from);
}

void publish_file(const std::string& from, const std::string& to) {
  sync_file(from);
  rename_file(from, to);
  sync_directory(directory_of(to));
}

void publish_new_file(const std::string& from, const std::string& to) {
  sync_file(from);
  int error =
      renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0 ? 0 : errno;
  if (error == EINVAL || error == ENOSYS) {  // network file systems; most support hard links
    error = link(from.c_str(), to.c_str()) == 0 ? 0 : errno;
    if (error == 0) unlink(from.c_str());
    if (error != 0 && !file_exists(to)) return publish_file(from, to);
    if (error != 0) error = EEXIST;
  }
  require(error != EEXIST, ExitCode::cannot_create,
          fmt::format("output '{}' was concurrently created and is left unchanged; pass "
                      "{} to replace it, or another name",
                      to, option_or("--overwrite", "Existing::replace")));
  if (error != 0) fail(error, fmt::format("'{}' cannot be renamed to '{}'", from, to));
  forget_partial(from);
  sync_directory(directory_of(to));
}

std::string behind_links(const std::string& path) {
  constexpr int most_links = 40;  // the limit of Linux
  std::filesystem::path at = path;
  std::error_code error;
  for (int i = 0; i < most_links && std::filesystem::is_symlink(at, error); ++i) {
    const auto next = std::filesystem::read_symlink(at, error);
    if (error) break;
    at = at.parent_path() / next;
  }
  return at.string();
}

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "./" : path.substr(0, slash + 1);
}

bool file_exists(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0;
}

bool same_file(const std::string& a, const std::string& b) {
  struct stat first {
  }, second{};
  if (stat(a.c_str(), &first) == 0 && stat(b.c_str(), &second) == 0)
    return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
  std::error_code ignored;
  const auto whole = [&](const std::string& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, ignored), ignored);
  };
  return whole(a) == whole(b);
}

}  // namespace tessera::inline v1::io
