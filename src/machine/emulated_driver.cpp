// The emulation of a device in host memory.

#include <cstring>

#include "machine/buffer.hpp"
#include "machine/driver.hpp"

namespace tessera::inline v1::machine::device {
namespace {

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

  std::byte* allocate(index_t bytes, Home) override {
    return static_cast<std::byte*>(machine::allocate(bytes));
  }
  void release(std::byte* data, Home) noexcept override { machine::release(data); }
  Handle handle_of(std::byte*) override {
    throw Error(ExitCode::internal, "an emulated device has no handles of its blocks");
  }
  std::byte* map(const Handle&) override {
    throw Error(ExitCode::internal, "an emulated device cannot map blocks of other processes");
  }
  void unmap(std::byte*) noexcept override {}

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
};

}  // namespace

Driver& emulated_driver() {
  static Emulation emulation;
  return emulation;
}

}  // namespace tessera::inline v1::machine::device
