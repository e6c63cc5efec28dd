#include "io/file_copy.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "mpi/heartbeat.hpp"

namespace tessera::inline v1::io {
namespace {

constexpr index_t step_bytes = index_t{256}
                               << 20;  // about a second between checks that all ranks live
constexpr index_t buffer_bytes = index_t{4} << 20;

std::string reason() { return std::strerror(errno); }

std::unique_ptr<RawFile> create_file(const std::string& path) {
  const int made = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  require(made >= 0, ExitCode::cannot_create,
          fmt::format("'{}' cannot be created: {}", path, reason()));
  close(made);
  return std::make_unique<RawFile>(path, RawFile::Mode::read_write);
}

/// Copies access lists and extended attributes. Those of the system may require privileges.
void copy_extended_attributes(int from, int to, const std::string& name) {
  const ssize_t bytes = flistxattr(from, nullptr, 0);
  if (bytes <= 0) return;
  std::vector<char> names(static_cast<std::size_t>(bytes));
  const ssize_t got = flistxattr(from, names.data(), names.size());
  for (const char* one = names.data(); one < names.data() + got; one += std::strlen(one) + 1) {
    const ssize_t size = fgetxattr(from, one, nullptr, 0);
    std::vector<char> value(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    const bool set = size >= 0 && fgetxattr(from, one, value.data(), value.size()) == size &&
                     fsetxattr(to, one, value.data(), value.size(), 0) == 0;
    const bool of_system =
        std::strncmp(one, "security.", 9) == 0 || std::strncmp(one, "trusted.", 8) == 0;
    require(set || of_system, ExitCode::cannot_create,
            fmt::format("attribute '{}' of the file '{}' cannot be preserved: {}", one, name,
                        reason()));
  }
}

void copy_ownership(const RawFile& from, const RawFile& to, const std::string& name,
                    FileCopy::Owner owner) {
  struct stat wanted {
  }, there{};
  const bool known = fstat(from.descriptor(), &wanted) == 0 && fstat(to.descriptor(), &there) == 0;
  require(known, ExitCode::io, fmt::format("status of '{}' cannot be read: {}", name, reason()));
  const bool same = wanted.st_uid == there.st_uid && wanted.st_gid == there.st_gid;
  const bool given = same || fchown(to.descriptor(), wanted.st_uid, wanted.st_gid) == 0;
  require(given || owner == FileCopy::Owner::should_stay, ExitCode::cannot_create,
          fmt::format("'{}' belongs to another user or group, which a copy cannot preserve ({}); "
                      "name another file",
                      name, reason()));
  if (!given) (void)!fchown(to.descriptor(), static_cast<uid_t>(-1), wanted.st_gid);
  copy_extended_attributes(from.descriptor(), to.descriptor(), name);
  const bool kept = fchmod(to.descriptor(), wanted.st_mode & 07777) == 0;
  require(kept, ExitCode::cannot_create,
          fmt::format("permissions of '{}' cannot be preserved: {}", name, reason()));
}

}  // namespace

FileCopy::FileCopy(const std::string& from, const std::string& to, Owner owner)
    : from_(std::make_unique<RawFile>(from, RawFile::Mode::read)), to_(create_file(to)) {
  copy_ownership(*from_, *to_, from, owner);
  struct stat status {};
  const bool known = fstat(from_->descriptor(), &status) == 0;
  require(known, ExitCode::io, fmt::format("status of '{}' cannot be read: {}", from, reason()));
  bytes_ = static_cast<index_t>(status.st_size);
  const bool shared = ioctl(to_->descriptor(), FICLONE, from_->descriptor()) == 0;
  if (shared) at_ = bytes_;
  const bool extended = shared || ftruncate(to_->descriptor(), bytes_) == 0;
  require(extended, ExitCode::cannot_create,
          fmt::format("'{}' cannot be copied: {}", from, reason()));
}

bool FileCopy::step() {
  const index_t end = std::min(bytes_, at_ + step_bytes);
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(buffer_bytes, end - at_)));
  while (at_ < end) {
    const off_t data = lseek(from_->descriptor(), at_, SEEK_DATA);
    if (data < 0 && errno == ENXIO) at_ = bytes_;  // a hole up to the end
    if (at_ >= end) break;
    at_ = std::max(at_, static_cast<index_t>(data));
    const off_t hole = data < 0 ? -1 : lseek(from_->descriptor(), at_, SEEK_HOLE);
    const index_t until = std::min(end, hole < 0 ? bytes_ : static_cast<index_t>(hole));
    if (at_ < until) to_->reserve(at_, until - at_);
    while (at_ < until) {
      const auto piece =
          std::span(buffer).first(static_cast<std::size_t>(std::min(ssize(buffer), until - at_)));
      from_->read_at(at_, piece);
      to_->write_at(at_, piece);
      at_ += ssize(piece);
      mpi::heartbeat();
    }
  }
  return at_ < bytes_;
}

void copy_file(const std::string& from, const std::string& to) {
  FileCopy copy(from, to, FileCopy::Owner::should_stay);
  while (copy.step()) continue;
}

void copy_ownership(const std::string& from, const std::string& to, FileCopy::Owner owner) {
  copy_ownership(RawFile(from, RawFile::Mode::read), RawFile(to, RawFile::Mode::read_write), from,
                 owner);
}

}  // namespace tessera::inline v1::io
