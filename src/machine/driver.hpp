#pragma once
// The calls behind machine/device.hpp: those of CUDA, which are in libtessera_cuda.so, or an
// emulation in host memory, for tests where there is no device.

#include "machine/device.hpp"

namespace tessera::inline v1::machine::device {

/// The functions of device.hpp on plain handles; each has the meaning described there.
class Driver {
 public:
  Driver() = default;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  virtual ~Driver() = default;

  [[nodiscard]] virtual StreamHandle make_stream(Turn turn) = 0;
  virtual void destroy_stream(StreamHandle stream) noexcept = 0;
  virtual void wait_for(StreamHandle stream) = 0;

  [[nodiscard]] virtual void* make_event() = 0;
  virtual void destroy_event(void* event) noexcept = 0;
  virtual void record(void* event, StreamHandle stream) = 0;
  virtual void before_next(void* event, StreamHandle stream) = 0;
  virtual void wait_for_event(void* event) = 0;
  [[nodiscard]] virtual double seconds_between(void* begin, void* end) = 0;

  [[nodiscard]] virtual std::byte* allocate(index_t bytes, Home home) = 0;
  virtual void release(std::byte* data, Home home) noexcept = 0;
  [[nodiscard]] virtual Handle handle_of(std::byte* data) = 0;
  [[nodiscard]] virtual std::byte* map(const Handle& handle) = 0;
  virtual void unmap(std::byte* data) noexcept = 0;

  virtual void copy(const MatrixView<const std::byte>& from, const MatrixView<std::byte>& to,
                    StreamHandle stream) = 0;
  virtual void upload(const MatrixView<const std::byte>& host, const MatrixView<std::byte>& device,
                      int threads) = 0;
  virtual void download(const MatrixView<std::byte>& device, const MatrixView<std::byte>& host,
                        int threads) = 0;
  virtual void upload(std::span<const Upload> parts, int threads) = 0;
  virtual void download(std::span<const Download> parts, int threads) = 0;
  virtual void zero(std::byte* to, index_t bytes, StreamHandle stream) = 0;
  virtual void synchronize() = 0;
  [[nodiscard]] virtual std::string identity() = 0;
};

/// Returns the emulation of a device in host memory.
[[nodiscard]] Driver& emulated_driver();

}  // namespace tessera::inline v1::machine::device
