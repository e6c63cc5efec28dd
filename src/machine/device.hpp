#pragma once
// Memory, streams and copies of this rank's device, for code without CUDA. Where there is none
// (machine::gpus() is empty) host memory emulates one and all calls are synchronous, so that
// distributed device algorithms can be tested there.

#include <array>
#include <cstddef>
#include <span>
#include <string>

#include "base/view.hpp"

struct CUstream_st;

namespace tessera::inline v1::machine::device {

using StreamHandle = CUstream_st*;  // cudaStream_t, without the CUDA headers

/// Priority of a stream's blocks in scheduling: `first` precedes `any`.
enum class Turn { any, first };

class Stream {
 public:
  explicit Stream(Turn turn = Turn::any);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator StreamHandle() const {
    return stream_;
  }  // NOLINT: it is the stream wherever a kernel wants one
  void wait() const;

 private:
  StreamHandle stream_ = nullptr;
};

/// A point of a stream: that of the last record(). Waiting for an event never recorded returns at
/// once.
class Event {
 public:
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(StreamHandle stream);
  /// Makes later work of the stream wait for this event.
  void before_next(StreamHandle stream) const;
  void wait() const;
  /// Returns the seconds from `begin` to this event; both must have been reached.
  [[nodiscard]] double seconds_since(const Event& begin) const;

 private:
  [[maybe_unused]] void* event_ = nullptr;  // a cudaEvent_t
};

enum class Home {
  device,  ///< device memory in granules not shared with other blocks, so that a handle exports
           ///< this block only
  pinned,  ///< page-locked host memory, accessed by devices at the rate of the bus
};

/// Uninitialised bytes; move only. Throws Error(memory).
class Allocation {
 public:
  Allocation() = default;
  Allocation(index_t bytes, Home home);
  Allocation(Allocation&& other) noexcept;
  Allocation& operator=(Allocation&& other) noexcept;
  ~Allocation();

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] index_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  index_t size_ = 0;
  Home home_ = Home::device;
};

/// An inter-process handle of a device block, valid on the same node.
using Handle = std::array<std::byte, 64>;
/// Returns the handle of a block. Throws Error(internal) if blocks cannot be exported.
[[nodiscard]] Handle handle_of(const Allocation& block);

/// A mapping of another process's block, on any device of the node; move only. The block must
/// outlive it.
class Mapped {
 public:
  Mapped() = default;
  /// Throws Error(internal) with the driver's message if the block cannot be mapped.
  explicit Mapped(const Handle& handle);
  Mapped(Mapped&& other) noexcept;
  Mapped& operator=(Mapped&& other) noexcept;
  ~Mapped();
  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
};

/// Copies to[0:m, 0:n] = from[0:m, 0:n] (bytes) between host and device in any direction;
/// asynchronous unless host memory is pageable.
void copy(const MatrixView<const std::byte>& from, const MatrixView<std::byte>& to,
          StreamHandle stream);

/// Copies device[0:m, 0:n] = host[0:m, 0:n] (bytes, pageable or pinned) with `threads` threads;
/// complete on return.
void upload(const MatrixView<const std::byte>& host, const MatrixView<std::byte>& device,
            int threads);
/// Copies host[0:m, 0:n] = device[0:m, 0:n] and zeroes the padding of the device's rows.
void download(const MatrixView<std::byte>& device, const MatrixView<std::byte>& host, int threads);

struct Upload {
  MatrixView<const std::byte> host;
  MatrixView<std::byte> device;  ///< the padding after every row, the last one too, is zeroed
};
struct Download {
  MatrixView<std::byte> device;  ///< the padding of its rows is preserved
  MatrixView<std::byte> host;
};
/// Executes several copies with `threads` threads; complete on return.
void upload(std::span<const Upload> parts, int threads);
void download(std::span<const Download> parts, int threads);

/// Zeroes the bytes at `to`; asynchronous.
void zero(std::byte* to, index_t bytes, StreamHandle stream);

/// Waits for all work of this rank's device.
void synchronize();

/// Returns the PCI address of this rank's device, unique on the node ("0000:19:00.0"); "" without a
/// device.
[[nodiscard]] std::string identity();

}  // namespace tessera::inline v1::machine::device
