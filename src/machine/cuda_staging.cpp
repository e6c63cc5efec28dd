#include "machine/cuda_staging.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "machine/copy_rows.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::machine::cuda {
namespace {

bool is_pinned(const void* at) {
  cudaPointerAttributes attributes{};
  if (cudaPointerGetAttributes(&attributes, at) == cudaSuccess)
    return attributes.type == cudaMemoryTypeHost;
  (void)cudaGetLastError();  // unknown to the driver: not pinned
  return false;
}

bool is_pinned(const MatrixView<const std::byte>& x) {
  return is_pinned(x.data) && is_pinned(&x(x.rows - 1, x.cols - 1));
}

/// The part of a matrix in one chunk: rows with the device's pitch, or a part of one long row.
struct ChunkPart {
  index_t i, j, rows, cols;
  index_t pitch,
      bytes;  // in the chunk; contiguous on the device, padding included
};

template <class F>
void for_blocks(const MatrixView<const std::byte>& device, index_t chunk_bytes, const F& f) {
  if (device.ld <= chunk_bytes) {
    const index_t most = chunk_bytes / device.ld;
    for (index_t i = 0; i < device.rows; i += most) {
      const index_t rows = std::min(most, device.rows - i);
      f(ChunkPart{i, 0, rows, device.cols, device.ld, rows * device.ld});
    }
    return;
  }
  for (index_t i = 0; i < device.rows; ++i) {
    for (index_t j = 0; j < device.cols; j += chunk_bytes) {
      const index_t cols = std::min(chunk_bytes, device.cols - j);
      f(ChunkPart{i, j, 1, cols, cols, cols});
    }
  }
}

/// Sets the pitch of a single row to its length, because copies limit the pitch.
template <class Byte>
MatrixView<Byte> without_pitch(MatrixView<Byte> x) {
  if (x.rows == 1) x.ld = x.cols;
  return x;
}

void zero_padding(const MatrixView<std::byte>& x, cudaStream_t stream) {
  const index_t widest = index_t{1} << 31;  // the maximal pitch
  const MatrixView<std::byte> padding{x.data + x.cols, x.rows, x.ld - x.cols, x.ld};
  if (x.ld < widest) return zero(padding, stream);
  for (index_t i = 0; i < x.rows; ++i)
    zero(without_pitch(padding.block(i, 0, 1, padding.cols)), stream);
}

}  // namespace

Staging::Staging(const StagingPlan& plan) : plan_(plan) {
  if (plan_.threads == 0) plan_.threads = default_threads();
  plan_.chunk_bytes = chunk_bytes_of(plan);
}

bool Staging::is_direct(const MatrixView<const std::byte>& host,
                        const MatrixView<const std::byte>& device) const {
  if (plan_.route != StagingPlan::Route::automatic)
    return plan_.route == StagingPlan::Route::straight;
  const bool one_run = host.ld == host.cols && device.ld == device.cols;
  const bool long_rows = host.cols >= 1024 && host.ld < (index_t{1} << 31);
  return (one_run || long_rows) && is_pinned(host);
}

Staging::Chunk& Staging::take(Ring& ring, index_t most, std::size_t number) {
  const auto count = static_cast<std::size_t>(most);
  if (number < count) {
    ring.push_back(std::make_unique<Chunk>());
    ring.back()->memory = PinnedBuffer<std::byte>(plan_.chunk_bytes);
  }
  return *ring[number % count];
}

void Staging::copy_straight(const MatrixView<const std::byte>& from,
                            const MatrixView<std::byte>& to, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  Lap& lap = (kind == cudaMemcpyHostToDevice ? straight_there_ : straight_back_).next();
  lap.begin.record(stream);
  copy<std::byte>(without_pitch(from), without_pitch(to), kind, stream);
  lap.end.record(stream);
}

void Staging::send(MatrixView<const std::byte> host, MatrixView<std::byte> device) {
  if (host.empty()) return;
  if (is_direct(host, device))
    copy_straight(host, device, cudaMemcpyHostToDevice, sending_);
  else
    for_blocks(device, plan_.chunk_bytes, [&](const ChunkPart& x) {
      Chunk& chunk = take(to_device_, plan_.chunks_there, sent_++);
      reclaim(chunk);
      const MatrixView<std::byte> packed{chunk.memory.data(), x.rows, x.cols, x.pitch};
      copy_rows(host.block(x.i, x.j, x.rows, x.cols), packed, plan_.threads);
      chunk.begin.record(sending_);
      copy<std::byte>(packed.data, &device(x.i, x.j), x.bytes, cudaMemcpyHostToDevice, sending_);
      chunk.end.record(sending_);
      chunk.travels = true;
      unpack_next();
    });
  zero_padding(device, sending_);
}

void Staging::reclaim(Chunk& chunk) {
  if (!chunk.travels) return;
  while (!chunk.end.reached()) {
    if (!unpack_next()) std::this_thread::yield();
  }
  times_.to_device += chunk.seconds();
}

void Staging::bring(MatrixView<std::byte> device, MatrixView<std::byte> host, Between between) {
  if (host.empty()) return;
  if (is_direct(host, device)) {
    brought_straight_ = true;
    return copy_straight(device, host, cudaMemcpyDeviceToHost, bringing_);
  }
  if (between == Between::zeros) zero_padding(device, bringing_);
  for_blocks(device, plan_.chunk_bytes, [&](const ChunkPart& x) {
    Chunk& chunk = take(from_device_, plan_.chunks_back, brought_++);
    while (chunk.travels) {  // the oldest chunk
      chunk.end.wait();
      unpack_next();
    }
    chunk.begin.record(bringing_);
    copy<std::byte>(&device(x.i, x.j), chunk.memory.data(), x.bytes, cudaMemcpyDeviceToHost,
                    bringing_);
    chunk.end.record(bringing_);
    chunk.packed = {chunk.memory.data(), x.rows, x.cols, x.pitch};
    chunk.home = host.block(x.i, x.j, x.rows, x.cols);
    chunk.travels = true;
  });
}

bool Staging::unpack_next() {
  if (unpacked_ == brought_) return false;
  Chunk& chunk = *from_device_[unpacked_ % from_device_.size()];
  if (!chunk.travels || !chunk.end.reached()) return false;
  times_.from_device += chunk.seconds();
  copy_rows(chunk.packed, chunk.home, plan_.threads);
  chunk.travels = false;
  ++unpacked_;
  return true;
}

void Staging::arrived(const Asked& asked) {
  while (unpacked_ < asked.chunks) {
    from_device_[unpacked_ % from_device_.size()]->end.wait();
    unpack_next();
  }
  if (asked.straight) bringing_.wait();
}

DeviceTimes Staging::finish() {
  arrived(asked());
  sending_.wait();
  bringing_.wait();
  for (const auto& chunk : to_device_) {
    if (std::exchange(chunk->travels, false)) times_.to_device += chunk->seconds();
  }
  times_.to_device += straight_there_.take();
  times_.kernels += kernels_.take();
  times_.from_device += straight_back_.take();
  return std::exchange(times_, {});
}

}  // namespace tessera::inline v1::machine::cuda
