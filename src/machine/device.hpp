#pragma once
// Memory, streams and copies of this rank's device, for code that is compiled with and without
// CUDA. A build without CUDA has no devices (machine::gpus() is empty); here the host's memory then
// stands in for one, and what is asked for is done at once, so that what ranks do with their
// devices can be tried there too.

#include <array>
#include <cstddef>
#include <span>
#include <string>

#include "base/view.hpp"

struct CUstream_st;

namespace tessera::machine::device {

using StreamHandle = CUstream_st*;  // cudaStream_t, for those that do not know CUDA

/// When blocks of several streams wait for a multiprocessor.
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

/// A point of a stream: the last one at which it was recorded; one that never was is no point to
/// wait for.
class Event {
 public:
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(StreamHandle stream);
  /// What the stream does next begins after it.
  void before_next(StreamHandle stream) const;
  void wait() const;
  /// Both have been reached.
  [[nodiscard]] double seconds_since(const Event& begin) const;

 private:
  [[maybe_unused]] void* event_ = nullptr;  // a cudaEvent_t
};

enum class Home {
  device,  ///< the current device's memory, in whole granules of their own: a handle tells of
           ///< nothing else
  pinned,  ///< the host's, which devices read and write at the rate of the bus
};

/// Uninitialised bytes; move only. Throws Error(memory) where there is no room.
class Block {
 public:
  Block() = default;
  Block(index_t bytes, Home home);
  Block(Block&& other) noexcept;
  Block& operator=(Block&& other) noexcept;
  ~Block();

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] index_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  index_t size_ = 0;
  Home home_ = Home::device;
};

/// What another process of the node needs to reach a block on a device.
using Handle = std::array<std::byte, 64>;
/// Throws Error(internal) where blocks cannot be told of.
[[nodiscard]] Handle handle_of(const Block& block);

/// A block of another process, on any device of the node, as this rank's device reaches it; move
/// only. The block must stand until this is gone.
class Mapped {
 public:
  Mapped() = default;
  /// Throws Error(internal) with the driver's words where it cannot be reached.
  explicit Mapped(const Handle& handle);
  Mapped(Mapped&& other) noexcept;
  Mapped& operator=(Mapped&& other) noexcept;
  ~Mapped();
  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
};

/// to[0:m, 0:n] = from[0:m, 0:n], bytes, wherever they lie; asynchronous unless host memory is not
/// pinned.
void copy(const MatrixView<const std::byte>& from, const MatrixView<std::byte>& to,
          StreamHandle stream);

/// device[0:m, 0:n] = host[0:m, 0:n], bytes of memory as its user has it, by so many threads; done
/// on return.
void upload(const MatrixView<const std::byte>& host, const MatrixView<std::byte>& device,
            int threads);
/// host[0:m, 0:n] = device[0:m, 0:n]. What lies between the device's rows becomes zeros.
void download(const MatrixView<std::byte>& device, const MatrixView<std::byte>& host, int threads);

struct Upload {
  MatrixView<const std::byte> host;
  MatrixView<std::byte>
      device;  ///< what lies between its rows, and so far behind the last one, becomes zeros
};
struct Download {
  MatrixView<std::byte> device;  ///< what lies between its rows stays
  MatrixView<std::byte> host;
};
/// Many at once, by so many threads; done on return.
void upload(std::span<const Upload> parts, int threads);
void download(std::span<const Download> parts, int threads);

/// The bytes at `to` become zeros; asynchronous.
void zero(std::byte* to, index_t bytes, StreamHandle stream);

/// Until all that this rank asked of its device has been done.
void synchronize();

/// What tells this rank's device from every other one of its node ("0000:19:00.0"); "" where there
/// is none.
[[nodiscard]] std::string identity();

}  // namespace tessera::machine::device
