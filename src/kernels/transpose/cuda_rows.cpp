#include <vector>

#include "kernels/transpose/cuda.hpp"
#include "kernels/transpose/pieces.hpp"
#include "machine/cuda_pipeline.hpp"
#include "machine/cuda_staging.hpp"
#include "machine/device_times.hpp"
#include "machine/gpu.hpp"

namespace tessera::transpose {
namespace {

namespace cuda = machine::cuda;

template <class Byte>
MatrixView<Byte> in_bytes(const RecordView<Byte>& x) {
  return {x.data, x.rows, x.cols * x.bytes, x.stride()};
}

/// A matrix's place on the device, rows on 16 bytes.
struct OnDevice {
  cuda::DeviceBuffer<std::byte> storage;
  Records view;

  explicit OnDevice(const ConstRecords& host) {
    const index_t ld = aligned_ld(host.cols, host.bytes);
    storage = cuda::DeviceBuffer<std::byte>(checked_mul(host.rows, ld * host.bytes, "a device matrix"));
    view = {storage.data(), host.rows, host.cols, ld, host.bytes};
  }
};

/// Operand there, kernel, result back.
machine::DeviceTimes at_once(DeviceKernel* kernel, const ConstRecords& a, const Records& b,
                             const Tuning& tuning) {
  const OnDevice from(a), to(b);
  cuda::Staging staging({.threads = threads_of(tuning)});
  staging.send(in_bytes(a), in_bytes(from.view));
  staging.compute([&](cudaStream_t stream) { kernel(from.view, to.view, tuning, stream); });
  staging.bring(in_bytes(to.view), in_bytes(b));
  return staging.finish();
}

void copy_rows(const ConstRecords& from, const Records& to, int threads) {
  machine::copy_rows(in_bytes(from), in_bytes(to), threads, machine::Stores::streaming);
}

/// The pieces of a matrix on their way through the device.
struct InPieces {
  DeviceKernel* kernel;
  const ConstRecords& a;
  const Records& b;
  const Tuning& tuning;
  Pieces pieces;

  [[nodiscard]] cuda::PieceBytes bytes(index_t piece) const {
    const Block block = pieces.of(piece);
    return {pieces.in_bytes(block), pieces.out_bytes(block)};
  }
  void pack(index_t piece, std::byte* host) const {
    const Block block = pieces.of(piece);
    copy_rows(a.block(block.i, block.j, block.rows, block.cols), packed(host, block.rows, block.cols),
              threads_of(tuning));
  }
  void launch(index_t piece, const std::byte* in, std::byte* out, cudaStream_t stream) const {
    const Block block = pieces.of(piece);
    kernel(packed(in, block.rows, block.cols), packed(out, block.cols, block.rows), tuning, stream);
  }
  void unpack(index_t piece, const std::byte* host) const {
    const Block block = pieces.of(piece);
    copy_rows(packed(host, block.cols, block.rows), b.block(block.j, block.i, block.cols, block.rows),
              threads_of(tuning));
  }

 private:
  template <class Byte>
  [[nodiscard]] RecordView<Byte> packed(Byte* at, index_t rows, index_t cols) const {
    return {at, rows, cols, aligned_ld(cols, a.bytes), a.bytes};
  }
};

void transpose_on_device(DeviceKernel* kernel, const ConstRecords& a, const Records& b,
                         const Tuning& tuning) {
  if (a.empty()) return;
  const auto needs = [](const ConstRecords& x) { return x.rows * aligned_ld(x.cols, x.bytes) * x.bytes; };
  const index_t limit = machine::gpu_memory_limit(tuning.device_memory);
  if (needs(a) + needs(b) <= limit) {
    machine::add_device_times(at_once(kernel, a, b, tuning));
    return;
  }
  // Three places, both ways; larger pieces than 64 MiB would be no faster, and take long to fill the ring.
  constexpr index_t places = 3, largest = index_t{64} << 20;
  InPieces work{kernel, a, b, tuning,
                plan_pieces(a.rows, a.cols, a.bytes, std::min(largest, limit / (2 * places)))};
  const cuda::PieceBytes most{work.pieces.in_bytes(work.pieces.piece),
                              work.pieces.out_bytes(work.pieces.piece)};
  machine::add_device_times(cuda::run_pieces(work.pieces.count(), most, work, places));
}

template <DeviceKernel* kernel>
void staged(const ConstRecords& a, const Records& b, const Tuning& tuning) {
  transpose_on_device(kernel, a, b, tuning);
}

}  // namespace

std::vector<Variant> cuda_rows() {
  return {
      {{"cuda_naive", Space::device, "a thread four elements: reads along rows, writes across them"},
       staged<cuda_naive>,
       nullptr,
       cuda_naive},
      {{"cuda_coalesced", Space::device,
        "tiles of 32 x 32 through shared memory (Ruetsch and Micikevicius 2009)"},
       staged<cuda_coalesced>,
       nullptr,
       cuda_coalesced},
      {{"cuda_conflict_free", Space::device, "cuda_coalesced with tiles padded against bank conflicts"},
       staged<cuda_conflict_free>,
       nullptr,
       cuda_conflict_free},
      {{"cuda_diagonal", Space::device, "cuda_conflict_free, blocks of threads take the tiles diagonally"},
       staged<cuda_diagonal>,
       nullptr,
       cuda_diagonal},
      {{"cuda_vectorized", Space::device,
        "tiles of whole lines, 16 bytes a thread both ways wherever rows begin, padded shared memory"},
       staged<cuda_vectorized>,
       nullptr,
       cuda_vectorized},
  };
}

}  // namespace tessera::transpose
