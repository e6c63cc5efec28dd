#pragma once
// Matrices between host and device while kernels run: from and to memory as its user has it, which
// no engine of the device reads at the bus's rate, in chunks through pinned memory that several
// threads fill and empty; memory that is pinned goes straight. Include it only where CUDA is built.

#include <cstddef>
#include <memory>
#include <vector>

#include "machine/cuda_laps.hpp"
#include "machine/device_times.hpp"
#include "machine/staging_plan.hpp"

namespace tessera::machine::cuda {

/// Used by one thread. What is asked of it is done in order, each way in a stream of its own; host
/// memory must stand until finish().
class Staging {
 public:
  explicit Staging(const StagingPlan& plan);

  /// Make them wait for what has to be done before, and record in them when it has been done.
  [[nodiscard]] const Stream& sending() const { return sending_; }
  [[nodiscard]] const Stream& bringing() const { return bringing_; }

  /// device[0:m, 0:n] = host[0:m, 0:n], bytes; what lies between the device's rows becomes zeros,
  /// after the last one too. Returns when all of it is in chunks or on its way.
  void send(MatrixView<const std::byte> host, MatrixView<std::byte> device);
  /// launch(stream) between what was sent and what is brought from now on.
  template <class Launch>
  void compute(const Launch& launch) {
    Lap& lap = kernels_.next();
    lap.begin.record(sending_);
    launch(sending_);
    lap.end.record(sending_);
    lap.end.before_next(bringing_);
  }
  /// What lies between the rows of a device's matrix travels along when they are brought.
  enum class Between {
    zeros,  ///< it becomes zeros before
    kept,   ///< it stays, and is somebody's
  };
  /// host[0:m, 0:n] = device[0:m, 0:n], bytes. Returns when all of it has been asked of the device:
  /// then some of it is still on its way to chunks, and is taken from them by later calls.
  void bring(MatrixView<std::byte> device, MatrixView<std::byte> host,
             Between between = Between::zeros);
  /// All that has been asked to be brought so far, for arrived().
  struct Asked {
    std::size_t chunks = 0;
    bool straight = false;
  };
  [[nodiscard]] Asked asked() const { return {brought_, brought_straight_}; }
  /// Until that is where it belongs.
  void arrived(const Asked& asked);
  /// Until all is where it belongs; the sums of the transfers' times and that of compute().
  [[nodiscard]] DeviceTimes finish();

 private:
  struct Chunk : Lap {
    PinnedBuffer<std::byte> memory;
    bool travels = false;
    MatrixView<const std::byte> packed;  ///< what is brought,
    MatrixView<std::byte> home;          ///< and where it goes
  };
  using Ring = std::vector<std::unique_ptr<Chunk>>;

  [[nodiscard]] bool goes_straight(const MatrixView<const std::byte>& host,
                                   const MatrixView<const std::byte>& device) const;
  Chunk& take(Ring& ring, index_t most, std::size_t number);
  /// Until a chunk that was sent is there; others are unpacked meanwhile.
  void reclaim(Chunk& chunk);
  /// Takes the oldest chunk that was brought, if there is one: when it is there, or none of it.
  bool unpack_next();
  void copy_straight(const MatrixView<const std::byte>& from, const MatrixView<std::byte>& to,
                     cudaMemcpyKind kind, cudaStream_t stream);

  StagingPlan plan_;
  Stream sending_, bringing_;
  Ring to_device_, from_device_;
  std::size_t sent_ = 0, brought_ = 0, unpacked_ = 0;  ///< chunks
  bool brought_straight_ = false;                      ///< some, past chunks
  Laps straight_there_, straight_back_, kernels_;
  DeviceTimes times_;  ///< of chunks that have travelled
};

}  // namespace tessera::machine::cuda
