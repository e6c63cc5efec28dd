// Emulation of a device in host memory.

#include <cstring>
#include <utility>

#include "machine/buffer.hpp"
#include "machine/device.hpp"

namespace tessera::machine::device {

Stream::Stream(Turn) {}
Stream::~Stream() = default;
void Stream::wait() const {}

Event::Event() = default;
Event::~Event() = default;
void Event::record(StreamHandle) {}
void Event::before_next(StreamHandle) const {}
void Event::wait() const {}
double Event::seconds_since(const Event&) const { return 0; }

Allocation::Allocation(index_t bytes, Home home)
    : data_(static_cast<std::byte*>(allocate(bytes))), size_(bytes), home_(home) {}
Allocation::~Allocation() { release(data_); }

Handle handle_of(const Allocation&) {
  throw Error(ExitCode::internal, "CUDA is not part of this build");
}

Mapped::Mapped(const Handle&) { throw Error(ExitCode::internal, "CUDA is not part of this build"); }
Mapped::Mapped(Mapped&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
Mapped& Mapped::operator=(Mapped&& other) noexcept {
  std::swap(data_, other.data_);
  return *this;
}
Mapped::~Mapped() = default;

void copy(const MatrixView<const std::byte>& from, const MatrixView<std::byte>& to, StreamHandle) {
  if (from.empty()) return;
  for (index_t i = 0; i < from.rows; ++i)
    std::memcpy(&to(i, 0), &from(i, 0), static_cast<std::size_t>(from.cols));
}

void upload(const MatrixView<const std::byte>& host, const MatrixView<std::byte>& there, int) {
  device::copy(host, there, nullptr);
}
void download(const MatrixView<std::byte>& there, const MatrixView<std::byte>& host, int) {
  device::copy(there, host, nullptr);
}

void upload(std::span<const Upload> parts, int) {
  for (const Upload& part : parts) device::copy(part.host, part.device, nullptr);
}
void download(std::span<const Download> parts, int) {
  for (const Download& part : parts) device::copy(part.device, part.host, nullptr);
}

void zero(std::byte* to, index_t bytes, StreamHandle) {
  if (bytes > 0) std::memset(to, 0, static_cast<std::size_t>(bytes));
}

void synchronize() {}

std::string identity() { return {}; }

}  // namespace tessera::machine::device
