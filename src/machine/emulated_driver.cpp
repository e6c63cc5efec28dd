// The emulation of a device in host memory.

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "base/text.hpp"
#include "machine/buffer.hpp"
#include "machine/driver.hpp"

namespace tessera::inline v1::machine::device {
namespace {

/// Blocks that other processes of the node can map: a block that is exported for the first time
/// becomes that of a file without a name, at the same address.
class Exports {
 public:
  /// Returns a block of whole pages, which it shares with nothing.
  std::byte* allocate(index_t bytes) {
    void* const data = std::aligned_alloc(page, pages(bytes));
    require(data != nullptr, ExitCode::memory,
            human_bytes(bytes) + " cannot be allocated; use more ranks or smaller sizes");
    const std::lock_guard lock(mutex_);
    blocks_[static_cast<std::byte*>(data)] = {pages(bytes), -1};
    return static_cast<std::byte*>(data);
  }
  void release(std::byte* data) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(data);
    if (found != blocks_.end() && found->second.file >= 0) {
      mmap(data, found->second.bytes, PROT_READ | PROT_WRITE,
           MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      close(found->second.file);
    }
    if (found != blocks_.end()) blocks_.erase(found);
    std::free(data);
  }
  Handle handle_of(std::byte* data) {
    const std::lock_guard lock(mutex_);
    auto& [bytes, file] = blocks_.at(data);
    if (file < 0) {
      file = memfd_create("tessera_emulated_gpu", MFD_CLOEXEC);
      check(file >= 0 && write_all(file, data, bytes) &&
            mmap(data, bytes, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_SHARED, file, 0) == data);
    }
    const Exported exported{getpid(), file, bytes};
    Handle handle{};
    std::memcpy(handle.data(), &exported, sizeof exported);
    return handle;
  }
  std::byte* map(const Handle& handle) {
    Exported exported{};
    std::memcpy(&exported, handle.data(), sizeof exported);
    const std::string name = fmt::format("/proc/{}/fd/{}", exported.process, exported.file);
    const int file = open(name.c_str(), O_RDWR | O_CLOEXEC);
    check(file >= 0);
    void* const data = mmap(nullptr, exported.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    check(data != MAP_FAILED);
    const std::lock_guard lock(mutex_);
    mapped_[static_cast<std::byte*>(data)] = exported.bytes;
    return static_cast<std::byte*>(data);
  }
  void unmap(std::byte* data) noexcept {
    const std::lock_guard lock(mutex_);
    munmap(data, mapped_.at(data));
    mapped_.erase(data);
  }

 private:
  static constexpr std::size_t page = 4096;
  struct Block {
    std::size_t bytes;
    int file;  ///< -1: not exported
  };
  struct Exported {
    pid_t process;
    int file;
    std::size_t bytes;
  };
  static std::size_t pages(index_t bytes) {
    return (static_cast<std::size_t>(bytes) + page - 1) / page * page;
  }
  static bool write_all(int file, const std::byte* data, std::size_t bytes) {
    for (std::size_t done = 0; done < bytes;) {
      const ssize_t wrote = write(file, data + done, bytes - done);
      if (wrote <= 0) return false;
      done += static_cast<std::size_t>(wrote);
    }
    return true;
  }
  static void check(bool holds) {
    require(holds, ExitCode::internal,
            fmt::format("an emulated device cannot share a block: {}", std::strerror(errno)));
  }

  std::mutex mutex_;
  std::map<std::byte*, Block> blocks_;
  std::map<std::byte*, std::size_t> mapped_;
};

class Emulation : public Driver {
 public:
  StreamHandle make_stream(Turn) override { return nullptr; }
  void destroy_stream(StreamHandle) noexcept override {}
  void wait_for(StreamHandle) override {}

  void* make_event() override { return nullptr; }
  void destroy_event(void*) noexcept override {}
  void record(void*, StreamHandle) override {}
  void before_next(void*, StreamHandle) override {}
  void wait_for_event(void*) override {}
  double seconds_between(void*, void*) override { return 0; }

  std::byte* allocate(index_t bytes, Home home) override {
    if (home == Home::pinned) return static_cast<std::byte*>(machine::allocate(bytes));
    return exports_.allocate(bytes);
  }
  void release(std::byte* data, Home home) noexcept override {
    if (home == Home::pinned) return machine::release(data);
    exports_.release(data);
  }
  Handle handle_of(std::byte* data) override { return exports_.handle_of(data); }
  std::byte* map(const Handle& handle) override { return exports_.map(handle); }
  void unmap(std::byte* data) noexcept override { exports_.unmap(data); }

  void copy(const MatrixView<const std::byte>& from, const MatrixView<std::byte>& to,
            StreamHandle) override {
    if (from.empty()) return;
    for (index_t i = 0; i < from.rows; ++i)
      std::memcpy(&to(i, 0), &from(i, 0), static_cast<std::size_t>(from.cols));
  }
  void upload(const MatrixView<const std::byte>& host, const MatrixView<std::byte>& there,
              int) override {
    copy(host, there, nullptr);
  }
  void download(const MatrixView<std::byte>& there, const MatrixView<std::byte>& host,
                int) override {
    copy(there, host, nullptr);
  }
  void upload(std::span<const Upload> parts, int) override {
    for (const Upload& part : parts) copy(part.host, part.device, nullptr);
  }
  void download(std::span<const Download> parts, int) override {
    for (const Download& part : parts) copy(part.device, part.host, nullptr);
  }
  void zero(std::byte* to, index_t bytes, StreamHandle) override {
    if (bytes > 0) std::memset(to, 0, static_cast<std::size_t>(bytes));
  }
  void synchronize() override {}
  std::string identity() override { return {}; }

 private:
  Exports exports_;
};

}  // namespace

Driver& emulated_driver() {
  static Emulation emulation;
  return emulation;
}

}  // namespace tessera::inline v1::machine::device
