#pragma once
// Pipelined transfers of matrices between host and device. Pageable memory, which the copy engines
// do not read at the bus's rate, passes in chunks through pinned memory that several threads fill
// and empty; pinned memory is transferred directly. For builds with CUDA only.

#include <cstddef>
#include <memory>
#include <vector>

#include "machine/cuda_laps.hpp"
#include "machine/device_times.hpp"
#include "machine/staging_plan.hpp"

namespace tessera::inline v1::machine::cuda {

/// Used by one thread. Requests run in order, each direction in a separate stream; host memory must
/// stay valid until finish().
class Staging {
 public:
  explicit Staging(const StagingPlan& plan);

  /// The streams of the two directions: let them wait for earlier work, and record events in them.
  [[nodiscard]] const Stream& sending() const { return sending_; }
  [[nodiscard]] const Stream& bringing() const { return bringing_; }

  /// Copies device[0:m, 0:n] = host[0:m, 0:n] (bytes) and zeroes the padding of the device's rows,
  /// after the last one too. Returns when all is in chunks or in flight.
  void send(MatrixView<const std::byte> host, MatrixView<std::byte> device);
  /// Calls launch(stream) after the pending sends and before later brings.
  template <class Launch>
  void compute(const Launch& launch) {
    Lap& lap = kernels_.next();
    lap.begin.record(sending_);
    launch(sending_);
    lap.end.record(sending_);
    lap.end.before_next(bringing_);
  }
  /// Treatment of the padding of device rows, which a bring transfers too.
  enum class Between {
    zeros,  ///< zeroed before the transfer
    kept,   ///< preserved, because it may hold data
  };
  /// Copies host[0:m, 0:n] = device[0:m, 0:n] (bytes). Returns when all transfers are enqueued;
  /// chunks still in flight are unpacked by later calls.
  void bring(MatrixView<std::byte> device, MatrixView<std::byte> host,
             Between between = Between::zeros);
  /// The requests of bring() so far, for arrived().
  struct Asked {
    std::size_t chunks = 0;
    bool straight = false;
  };
  [[nodiscard]] Asked asked() const { return {brought_, brought_straight_}; }
  /// Waits until these requests have reached host memory.
  void arrived(const Asked& asked);
  /// Waits until all requests are done; returns the sums of the times of transfers and compute(),
  /// and resets them.
  [[nodiscard]] DeviceTimes finish();

 private:
  struct Chunk : Lap {
    PinnedBuffer<std::byte> memory;
    bool travels = false;
    MatrixView<const std::byte> packed;  ///< the source of a bring
    MatrixView<std::byte> home;          ///< its destination
  };
  using Ring = std::vector<std::unique_ptr<Chunk>>;

  [[nodiscard]] bool is_direct(const MatrixView<const std::byte>& host,
                               const MatrixView<const std::byte>& device) const;
  Chunk& take(Ring& ring, index_t most, std::size_t number);
  /// Waits until a sent chunk has arrived; unpacks brought ones during the wait.
  void reclaim(Chunk& chunk);
  /// Unpacks the oldest chunk that was brought; returns false if none is pending or it has not
  /// arrived.
  bool unpack_next();
  void copy_straight(const MatrixView<const std::byte>& from, const MatrixView<std::byte>& to,
                     cudaMemcpyKind kind, cudaStream_t stream);

  StagingPlan plan_;
  Stream sending_, bringing_;
  Ring to_device_, from_device_;
  std::size_t sent_ = 0, brought_ = 0, unpacked_ = 0;  ///< numbers of chunks
  bool brought_straight_ = false;                      ///< some transfer bypassed the chunks
  Laps straight_there_, straight_back_, kernels_;
  DeviceTimes times_;  ///< of completed chunks and kernels
};

}  // namespace tessera::inline v1::machine::cuda
