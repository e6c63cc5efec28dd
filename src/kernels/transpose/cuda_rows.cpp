// The device variants of transpose as rows of the table; in pieces if the device cannot hold both
// matrices.

#include <memory>
#include <vector>

#include "kernels/transpose/cuda.hpp"
#include "kernels/transpose/pieces.hpp"
#include "machine/cuda_staging.hpp"
#include "machine/device_times.hpp"

namespace tessera::inline v1::transpose {
namespace {

namespace cuda = machine::cuda;

/// Returns the device view of a rows x cols matrix, with rows aligned to 16 bytes.
Records on_device(std::byte* at, index_t rows, index_t cols, index_t bytes) {
  return {at, rows, cols, machine::device_ld(cols, bytes), bytes};
}
index_t bytes_on_device(index_t rows, index_t cols, index_t bytes) {
  return checked_mul(rows, machine::device_ld(cols, bytes) * bytes, "size of a device matrix");
}

machine::StagingPlan staging_of(const ConstRecords& a, const Tuning& tuning) {
  return {.job_bytes = a.rows * a.cols * a.bytes, .threads = threads_of(tuning)};
}

/// Copies the operand to the device, runs the kernel and copies the result back.
machine::DeviceTimes at_once(DeviceKernel* kernel, const ConstRecords& a, const Records& b,
                             const Tuning& tuning) {
  const cuda::DeviceBuffer<std::byte> in(bytes_on_device(a.rows, a.cols, a.bytes)),
      out(bytes_on_device(b.rows, b.cols, b.bytes));
  const Records from = on_device(in.data(), a.rows, a.cols, a.bytes),
                to = on_device(out.data(), b.rows, b.cols, b.bytes);
  cuda::Staging staging(staging_of(a, tuning));
  staging.send(in_bytes(a), in_bytes(from));
  staging.compute([&](cudaStream_t stream) { kernel(from, to, tuning, stream); });
  staging.bring(in_bytes(to), in_bytes(b));
  return staging.finish();
}

/// Out-of-core transposition on the device: transfers and kernels of successive pieces overlap.
/// Events enforce the dependencies.
class Passing {
 public:
  static constexpr index_t most_places = 3;

  Passing(DeviceKernel* kernel, const ConstRecords& a, const Records& b, const Tuning& tuning,
          const Pieces& pieces)
      : kernel_(kernel),
        a_(a),
        b_(b),
        tuning_(tuning),
        pieces_(pieces),
        staging_(staging_of(a, tuning)) {
    const index_t count = std::min(most_places, pieces.count());
    for (index_t at = 0; at < count; ++at) places_.push_back(std::make_unique<Place>(pieces));
  }

  machine::DeviceTimes run() {
    const auto places = static_cast<index_t>(places_.size());
    for (index_t number = 0; number < pieces_.count(); ++number)
      pass(pieces_.of(number), *places_[static_cast<std::size_t>(number % places)]);
    machine::DeviceTimes times = staging_.finish();
    compute_.wait();
    times.kernels = kernels_.take();
    return times;
  }

 private:
  /// Device memory of a piece and its transpose.
  struct Place {
    explicit Place(const Pieces& pieces)
        : in(pieces.in_bytes(pieces.piece)), out(pieces.out_bytes(pieces.piece)) {}
    cuda::DeviceBuffer<std::byte> in, out;
    cuda::Event filled, turned, brought;
  };

  void pass(const Submatrix& block, Place& place) {
    const Records in = on_device(place.in.data(), block.rows, block.cols, a_.bytes),
                  out = on_device(place.out.data(), block.cols, block.rows, a_.bytes);
    place.turned.before_next(staging_.sending());
    staging_.send(in_bytes(a_.block(block.i, block.j, block.rows, block.cols)), in_bytes(in));
    place.filled.record(staging_.sending());
    place.filled.before_next(compute_);
    place.brought.before_next(compute_);
    cuda::Lap& lap = kernels_.next();
    lap.begin.record(compute_);
    kernel_(in, out, tuning_, compute_);
    lap.end.record(compute_);
    place.turned.record(compute_);
    place.turned.before_next(staging_.bringing());
    staging_.bring(in_bytes(out), in_bytes(b_.block(block.j, block.i, block.cols, block.rows)));
    place.brought.record(staging_.bringing());
  }

  DeviceKernel* kernel_;
  const ConstRecords& a_;
  const Records& b_;
  const Tuning& tuning_;
  Pieces pieces_;
  std::vector<std::unique_ptr<Place>> places_;
  cuda::Stream compute_;
  cuda::Staging staging_;
  cuda::Laps kernels_;
};

void transpose_on_device(DeviceKernel* kernel, const ConstRecords& a, const Records& b,
                         const Tuning& tuning) {
  if (a.empty()) return;
  const index_t needed = bytes_on_device(a.rows, a.cols, a.bytes) +
                         bytes_on_device(b.rows, b.cols, b.bytes),
                limit = machine::gpu_memory_limit(tuning.device_memory);
  if (needed <= limit) {
    machine::add_device_times(at_once(kernel, a, b, tuning));
    return;
  }
  // Pieces above 64 MiB, two chunks, are no faster.
  constexpr index_t largest = index_t{64} << 20;
  const index_t most = std::min(largest, limit / (2 * Passing::most_places));
  machine::add_device_times(
      Passing(kernel, a, b, tuning, plan_pieces(a.rows, a.cols, a.bytes, most)).run());
}

template <DeviceKernel* kernel>
void staged(const ConstRecords& a, const Records& b, const Tuning& tuning) {
  transpose_on_device(kernel, a, b, tuning);
}

}  // namespace

std::vector<Variant> compiled_rows() {
  return {
      {entry(cuda_names, "cuda_naive"), staged<cuda_naive>, nullptr, cuda_naive},
      {entry(cuda_names, "cuda_coalesced"), staged<cuda_coalesced>, nullptr, cuda_coalesced},
      {entry(cuda_names, "cuda_conflict_free"), staged<cuda_conflict_free>, nullptr,
       cuda_conflict_free},
      {entry(cuda_names, "cuda_diagonal"), staged<cuda_diagonal>, nullptr, cuda_diagonal},
      {entry(cuda_names, "cuda_vectorized"), staged<cuda_vectorized>, nullptr, cuda_vectorized},
  };
}

std::vector<machine::DeviceFunction> compiled_functions() {
  std::vector<machine::DeviceFunction> all;
  add_ladder_functions(all);
  add_vectorized_functions(all);
  add_rearrange_functions(all);
  return all;
}

}  // namespace tessera::inline v1::transpose
