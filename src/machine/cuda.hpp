#pragma once
// RAII wrappers of the CUDA runtime: checked calls, device memory, streams, events. For builds with
// CUDA only.

#include <cuda_runtime_api.h>

#include <string>
#include <utility>
#include <vector>

#include "base/view.hpp"
#include "machine/cuda_pool.hpp"
#include "machine/gpu.hpp"

namespace tessera::inline v1::machine::cuda {

/// Throws Error(memory) if memory is insufficient, otherwise Error(internal), with the runtime's
/// message, unless rc is cudaSuccess.
void check(cudaError_t rc, const char* call);

/// Returns an attribute of the current device.
[[nodiscard]] int attribute(cudaDeviceAttr which);

/// Makes the device of this rank current: number local_rank modulo the device count. Throws
/// Error(usage) if there is no device.
void choose_device(int local_rank);

/// Returns the current device. Throws Error(internal) if it is none of gpus().
[[nodiscard]] const Gpu& current_gpu();

class Stream {
 public:
  Stream() {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const {
    return stream_;
  }  // NOLINT: it is the stream wherever CUDA wants one
  void wait() const { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// An array of `count` uninitialised elements in memory allocated by `take(bytes)` and returned to
/// `give(piece)`; move only.
template <class T, Piece (*take)(index_t), void (*give)(const Piece&) noexcept>
class PooledBuffer {
 public:
  PooledBuffer() = default;
  explicit PooledBuffer(index_t count) : size_(count) {
    if (count > 0) piece_ = take(checked_mul(count, static_cast<index_t>(sizeof(T)), "a buffer"));
  }
  PooledBuffer(PooledBuffer&& other) noexcept
      : piece_(std::exchange(other.piece_, {})), size_(std::exchange(other.size_, 0)) {}
  PooledBuffer& operator=(PooledBuffer&& other) noexcept {
    std::swap(piece_, other.piece_);
    std::swap(size_, other.size_);
    return *this;
  }
  PooledBuffer(const PooledBuffer&) = delete;
  PooledBuffer& operator=(const PooledBuffer&) = delete;
  ~PooledBuffer() { give(piece_); }

  [[nodiscard]] T* data() const { return static_cast<T*>(piece_.data); }
  [[nodiscard]] index_t size() const { return size_; }

 private:
  Piece piece_;
  index_t size_ = 0;
};

/// A buffer in device memory.
template <class T>
using DeviceBuffer = PooledBuffer<T, take_device, give_device>;
/// A buffer in page-locked host memory: transfers are asynchronous and at the full rate of the bus.
template <class T>
using PinnedBuffer = PooledBuffer<T, take_pinned, give_pinned>;
template <class T>
using ManagedBuffer = PooledBuffer<T, take_managed, give_managed>;

/// Stream-ordered device memory: allocated after the stream's earlier work, freed after its later
/// work. The device's pool keeps it for the next Scratch.
class Scratch {
 public:
  Scratch(std::size_t bytes, cudaStream_t stream);
  ~Scratch() { cudaFreeAsync(data_, stream_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  cudaStream_t stream_;
};

/// A point of a stream: that of the last record(). Waiting for an event never recorded returns at
/// once.
class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "cudaEventCreate"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "cudaEventRecord"); }
  /// Makes later work of the stream wait for this event.
  void before_next(cudaStream_t stream) const {
    check(cudaStreamWaitEvent(stream, event_, 0), "cudaStreamWaitEvent");
  }
  [[nodiscard]] bool reached() const {
    const cudaError_t rc = cudaEventQuery(event_);
    if (rc == cudaErrorNotReady) {
      (void)cudaGetLastError();  // not an error: clear it
      return false;
    }
    check(rc, "cudaEventQuery");
    return true;
  }
  void wait() const { check(cudaEventSynchronize(event_), "cudaEventSynchronize"); }
  /// Returns the seconds from `begin` to this event; both must have been reached.
  [[nodiscard]] double seconds_since(const Event& begin) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin.event_, event_), "cudaEventElapsedTime");
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Elapsed seconds between two points of a stream.
class Stopwatch {
 public:
  explicit Stopwatch(cudaStream_t stream) : stream_(stream) { begin_.record(stream_); }
  [[nodiscard]] double seconds() {
    end_.record(stream_);
    end_.wait();
    return end_.seconds_since(begin_);
  }

 private:
  cudaStream_t stream_;
  Event begin_, end_;
};

/// Copies to[0:count] = from[0:count] from host to device; visible to every stream on return.
/// cudaMemcpy alone may return once pageable memory is staged, and non-blocking streams do not wait
/// for the default one.
template <class T>
void upload(T* to, const T* from, std::size_t count) {
  check(cudaMemcpy(to, from, count * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

/// Copies to[0:m, 0:n] = from[0:m, 0:n] between host and device; asynchronous on pinned memory.
template <class T>
void copy(MatrixView<const T> from, MatrixView<T> to, cudaMemcpyKind kind, cudaStream_t stream) {
  if (from.empty()) return;
  const auto bytes = [](index_t elements) {
    return static_cast<std::size_t>(elements) * sizeof(T);
  };
  if (from.ld == from.cols &&
      to.ld == to.cols) {  // contiguous: one copy, because 2-D copies proceed row by row
    check(cudaMemcpyAsync(to.data, from.data, bytes(from.rows * from.cols), kind, stream),
          "cudaMemcpyAsync");
    return;
  }
  check(cudaMemcpy2DAsync(to.data, bytes(to.ld), from.data, bytes(from.ld), bytes(from.cols),
                          static_cast<std::size_t>(from.rows), kind, stream),
        "cudaMemcpy2DAsync");
}

/// Sets x[0:m, 0:n] = 0.
template <class T>
void zero(const MatrixView<T>& x, cudaStream_t stream) {
  if (x.empty()) return;
  const auto bytes = [](index_t elements) {
    return static_cast<std::size_t>(elements) * sizeof(T);
  };
  check(cudaMemset2DAsync(x.data, bytes(x.ld), 0, bytes(x.cols), static_cast<std::size_t>(x.rows),
                          stream),
        "cudaMemset2DAsync");
}

/// Sets x[0:count] = 0.
template <class T>
void zero(T* x, index_t count, cudaStream_t stream) {
  if (count == 0) return;
  check(cudaMemsetAsync(x, 0, static_cast<std::size_t>(count) * sizeof(T), stream),
        "cudaMemsetAsync");
}

/// Copies to[0:count] = from[0:count]; asynchronous on pinned memory. (The overload for matrices is
/// limited to rows of 2 GiB.)
template <class T>
void copy(const T* from, T* to, index_t count, cudaMemcpyKind kind, cudaStream_t stream) {
  if (count == 0) return;
  check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(count) * sizeof(T), kind, stream),
        "cudaMemcpyAsync");
}

}  // namespace tessera::inline v1::machine::cuda
