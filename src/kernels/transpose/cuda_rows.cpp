#include <vector>

#include "kernels/transpose/cuda.hpp"
#include "kernels/transpose/leaf.hpp"
#include "kernels/transpose/pieces.hpp"
#include "machine/cuda_pipeline.hpp"
#include "machine/device_times.hpp"
#include "machine/fork_join.hpp"
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
  const cuda::Stream stream;
  const OnDevice from(a), to(b);
  machine::DeviceTimes times;
  cuda::Stopwatch there(stream);
  cuda::copy<std::byte>(in_bytes(a), in_bytes(from.view), cudaMemcpyHostToDevice, stream);
  times.to_device = there.seconds();
  cuda::Stopwatch run(stream);
  kernel(from.view, to.view, tuning, stream);
  times.kernels = run.seconds();
  cuda::Stopwatch back(stream);
  cuda::copy<std::byte>(in_bytes<const std::byte>(to.view), in_bytes(b), cudaMemcpyDeviceToHost, stream);
  times.from_device = back.seconds();
  return times;
}

void copy_rows(const ConstRecords& from, const Records& to, int threads) {
  const index_t row_bytes = from.cols * from.bytes;
  const index_t grain = std::max<index_t>(1, (index_t{256} << 10) / std::max<index_t>(1, row_bytes));
  const LeafSet& set = leaf_set(machine::isa());
  machine::parallel(threads, [&] {
    machine::parallel_for(0, from.rows, grain, [&](index_t begin, index_t end) {
      for (index_t i = begin; i < end; ++i) set.stream(to.at(i, 0), from.at(i, 0), row_bytes);
      set.fence();
    });
  });
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

/// Whether the device's own engine copies it well: neither many short rows, which go one by one, nor rows 2
/// GiB apart.
bool copies_in_rows(const ConstRecords& x) {
  const bool contiguous = x.ld == x.cols && x.ld == aligned_ld(x.cols, x.bytes);
  const bool few_or_long = x.rows <= 4096 || x.cols * x.bytes >= 1024;
  return contiguous || (few_or_long && x.stride() < (index_t{1} << 31));
}

void transpose_on_device(DeviceKernel* kernel, const ConstRecords& a, const Records& b,
                         const Tuning& tuning) {
  if (a.empty()) return;
  const auto needs = [](const ConstRecords& x) { return x.rows * aligned_ld(x.cols, x.bytes) * x.bytes; };
  const index_t limit = tuning.device_memory > 0 ? tuning.device_memory
                                                 : machine::free_gpu_memory() / 10 * 9;  // others take some
  if (needs(a) + needs(b) <= limit && copies_in_rows(a) && copies_in_rows(b)) {
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
       nullptr},
      {{"cuda_coalesced", Space::device,
        "tiles of 32 x 32 through shared memory (Ruetsch and Micikevicius 2009)"},
       staged<cuda_coalesced>,
       nullptr},
      {{"cuda_conflict_free", Space::device, "cuda_coalesced with tiles padded against bank conflicts"},
       staged<cuda_conflict_free>,
       nullptr},
      {{"cuda_diagonal", Space::device, "cuda_conflict_free, blocks of threads take the tiles diagonally"},
       staged<cuda_diagonal>,
       nullptr},
      {{"cuda_vectorized", Space::device,
        "tiles of whole lines, 16 bytes a thread both ways, swizzled shared memory, streaming stores"},
       staged<cuda_vectorized>,
       nullptr},
  };
}

}  // namespace tessera::transpose
