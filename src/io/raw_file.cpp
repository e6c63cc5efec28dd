#include "io/raw_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>

#include "base/directory.hpp"
#include "base/text.hpp"
#include "mpi/runtime.hpp"

namespace tessera::io {
namespace {

[[noreturn]] void fail(int error, const std::string& what) {
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  throw Error(full ? ExitCode::cannot_create : ExitCode::io,
              fmt::format("{}: {}{}", what, std::strerror(error),
                          full ? "; free some space or write elsewhere" : ""));
}

std::string partial_prefix(const std::string& file) {
  return fmt::format(".{}.partial-{}-", std::filesystem::path(file).filename().string(), mpi::host_name());
}

/// A killed process that nobody has waited for yet still has its id, but no program any more.
bool is_running(long pid) {
  std::array<char, 8> name{};
  const std::string program = fmt::format("/proc/{}/exe", pid);
  if (readlink(program.c_str(), name.data(), name.size()) < 0 && errno == ENOENT) return false;
  return kill(static_cast<pid_t>(pid), 0) == 0 || errno != ESRCH;
}

constexpr std::size_t piece_bytes = std::size_t{1} << 30;  // Linux moves less than 2 GiB a call
constexpr index_t hint_bytes = index_t{1} << 20;

}  // namespace

RawFile::RawFile(const std::string& path, Mode mode)
    : path_(path),
      descriptor_(open(path.c_str(), (mode == Mode::read ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NOFOLLOW)) {
  if (descriptor_ < 0) fail(errno, "cannot open '" + path + "'");
}

RawFile::~RawFile() { close(descriptor_); }

void RawFile::write_at(index_t offset, std::span<const std::byte> data) const {
  while (!data.empty()) {
    const auto written = pwrite(descriptor_, data.data(), std::min(data.size(), piece_bytes), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      fail(written < 0 ? errno : EIO,
           fmt::format("cannot write {} to '{}'", human_bytes(data.size()), path_));
    }
    offset += written;
    data = data.subspan(static_cast<std::size_t>(written));
  }
}

void RawFile::read_at(index_t offset, std::span<std::byte> data) const {
  while (!data.empty()) {
    const auto got = pread(descriptor_, data.data(), std::min(data.size(), piece_bytes), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail(got < 0 ? errno : EIO, fmt::format("cannot read back '{}'", path_));
    offset += got;
    data = data.subspan(static_cast<std::size_t>(got));
  }
}

void RawFile::will_read(index_t offset, index_t bytes) const {
  // In one call, Linux 6 took three times as long to bring 134 MB as by reading them.
  for (const index_t end = offset + bytes; offset < end; offset += hint_bytes)
    posix_fadvise(descriptor_, offset, std::min(end - offset, hint_bytes), POSIX_FADV_WILLNEED);
}

void RawFile::reserve(index_t bytes) const {
  if (bytes == 0) return;
  int rc = EINTR;
  while (rc == EINTR) rc = posix_fallocate(descriptor_, 0, bytes);
  if (rc == EOPNOTSUPP || rc == EINVAL) return;  // the file system promises nothing; writing will tell
  if (rc != 0) fail(rc, fmt::format("cannot reserve {} for '{}'", human_bytes(bytes), path_));
}

void RawFile::will_sync(index_t offset, index_t bytes) const {
#ifdef SYNC_FILE_RANGE_WRITE
  sync_file_range(descriptor_, offset, bytes, SYNC_FILE_RANGE_WRITE);
#else
  static_cast<void>(offset), static_cast<void>(bytes);
#endif
}

void RawFile::sync() const {
  if (fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS)
    fail(errno, "cannot sync '" + path_ + "'");
}

std::string partial_name(const std::string& file) {
  return directory_of(file) + partial_prefix(file) +
         fmt::format("{}-{:08x}", getpid(), std::random_device()());
}

std::string stopped_name(const std::string& file) {
  return directory_of(file) + "." + std::filesystem::path(file).filename().string() + ".stopped";
}

void remove_abandoned(const std::string& file) {
  const std::string prefix = partial_prefix(file);
  std::error_code ignored;
  for (const std::string& name : names_in(directory_of(file))) {
    if (!name.starts_with(prefix)) continue;
    const long pid = std::strtol(name.c_str() + prefix.size(), nullptr, 10);
    if (pid > 0 && !is_running(pid)) std::filesystem::remove(directory_of(file) + name, ignored);
  }
}

void rename_file(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0)
    fail(errno, fmt::format("cannot rename '{}' to '{}'", from, to));
}

void publish_file(const std::string& from, const std::string& to) {
  rename_file(from, to);
  const int directory = open(directory_of(to).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  fsync(directory);  // some file systems cannot sync a directory: the rename has happened all the same
  close(directory);
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

}  // namespace tessera::io
