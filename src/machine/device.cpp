// Streams, events and blocks of the device: owners of the driver's handles.

#include "machine/device.hpp"

#include <utility>

#include "machine/cuda_library.hpp"
#include "machine/driver.hpp"
#include "machine/gpu.hpp"

namespace tessera::inline v1::machine::device {
namespace {

Driver& driver() {
  static Driver& chosen =
      gpus().devices.empty() ? emulated_driver() : *find_cuda_library().library->driver;
  return chosen;
}

}  // namespace

Stream::Stream(Turn turn) : stream_(driver().make_stream(turn)) {}
Stream::~Stream() { driver().destroy_stream(stream_); }
void Stream::wait() const { driver().wait_for(stream_); }

Event::Event() : event_(driver().make_event()) {}
Event::~Event() { driver().destroy_event(event_); }
void Event::record(StreamHandle stream) { driver().record(event_, stream); }
void Event::before_next(StreamHandle stream) const { driver().before_next(event_, stream); }
void Event::wait() const { driver().wait_for_event(event_); }
double Event::seconds_since(const Event& begin) const {
  return driver().seconds_between(begin.event_, event_);
}

Allocation::Allocation(index_t bytes, Home home) : size_(bytes), home_(home) {
  if (bytes > 0) data_ = driver().allocate(bytes, home);
}
Allocation::Allocation(Allocation&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      home_(other.home_) {}
Allocation& Allocation::operator=(Allocation&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(home_, other.home_);
  return *this;
}
Allocation::~Allocation() {
  if (data_ != nullptr) driver().release(data_, home_);
}

Handle handle_of(const Allocation& block) { return driver().handle_of(block.data()); }

Mapped::Mapped(const Handle& handle) : data_(driver().map(handle)) {}
Mapped::Mapped(Mapped&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
Mapped& Mapped::operator=(Mapped&& other) noexcept {
  std::swap(data_, other.data_);
  return *this;
}
Mapped::~Mapped() {
  if (data_ != nullptr) driver().unmap(data_);
}

void copy(const MatrixView<const std::byte>& from, const MatrixView<std::byte>& to,
          StreamHandle stream) {
  driver().copy(from, to, stream);
}
void upload(const MatrixView<const std::byte>& host, const MatrixView<std::byte>& device,
            int threads) {
  driver().upload(host, device, threads);
}
void download(const MatrixView<std::byte>& device, const MatrixView<std::byte>& host, int threads) {
  driver().download(device, host, threads);
}
void upload(std::span<const Upload> parts, int threads) { driver().upload(parts, threads); }
void download(std::span<const Download> parts, int threads) { driver().download(parts, threads); }
void zero(std::byte* to, index_t bytes, StreamHandle stream) { driver().zero(to, bytes, stream); }
void synchronize() { driver().synchronize(); }
std::string identity() { return driver().identity(); }

}  // namespace tessera::inline v1::machine::device
