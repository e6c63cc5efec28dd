#pragma once
// What follows from a kernel's requests on a GPU on paper: occupancy, bytes in flight, and the
// bounds of its time.

#include <string>
#include <vector>

#include "lab/paper/gpu.hpp"
#include "lab/paper/kernels.hpp"
#include "machine/residency.hpp"

namespace tessera::inline v1::paper {

/// A resource and the least time that it takes, s.
struct Bound {
  std::string by;
  double seconds = 0;
};

struct Report {
  Request request;  ///< with the kernel's choices
  PaperGpu gpu;
  Meter meter{32};
  index_t registers = 0;         ///< per thread
  machine::Residency residency;  ///< of its blocks
  double resident_warps = 0;     ///< per multiprocessor, of this launch
  double flight = 0;             ///< bytes in flight per multiprocessor
  double operations = 0;
  double memory_bytes = 0;  ///< each segment loaded once and stored once
  double l2_bytes = 0;      ///< each segment loaded once a block, every one stored
  std::vector<Bound> bounds;
  double seconds = 0;  ///< that the simulation took

  /// Operations per byte of device memory.
  [[nodiscard]] double intensity() const {
    return memory_bytes > 0 ? operations / memory_bytes : 0;
  }
  /// Returns the bytes in flight over those that the full bandwidth requires.
  [[nodiscard]] double flight_share() const { return flight / gpu.bytes_in_flight(); }
  /// Returns the longest bound.
  [[nodiscard]] const Bound& bound() const;
};

/// Runs the kernel on paper. Bounds, by Little's law and the roofline (Williams, Waterman and
/// Patterson 2009) for each resource:
///   memory        bytes of device memory over the bandwidth, which is at most the bytes in flight
///                 over the latency ("latency" where that is less)
///   L2            bytes that blocks ask of the second level over its bandwidth, where it is
///                 known; blocks do not share what the first level holds
///   shared memory passes over those of the clocks of all multiprocessors
///   compute       operations over the peak of the type; idle lanes of a divergent warp take as
///                 long as busy ones
/// witness: sees the kernel run. Throws Error(usage) for requests that it does not support,
/// Error(internal) for wrong results.
[[nodiscard]] Report run(const PaperGpu& gpu, const Request& request, Witness* witness = nullptr);

/// Throws Error(usage) as run() does, without running.
void check(const PaperGpu& gpu, const Request& request);

}  // namespace tessera::inline v1::paper
