#pragma once
// Probes of a GPU: small kernels that show the cost of one property or a peak rate. Every build
// lists their names; they run in builds with CUDA on machines with a device.

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/variant.hpp"
#include "machine/occupancy.hpp"

namespace tessera::inline v1::memory {

struct DeviceWalk {
  index_t bytes =
      0;  ///< of the data; 0: the probe's default, for probes in registers as many threads as fit
  index_t rounds = 0;  ///< launches per repetition, or steps per thread; 0: the probe's default
  // Parameters of some probes only; -1: the probe's default.
  index_t offset = -1;       ///< words before the first copied one
  index_t lane_stride = -1;  ///< words between the accesses of adjacent threads
  index_t bins = -1;         ///< of a histogram
  index_t ways = -1;         ///< branches that the threads of a warp take
  index_t streams = -1;      ///< streams that share the pieces of a transfer
  index_t issue = -1;        ///< order in which these are issued: an Issue
  index_t host_rounds = -1;  ///< steps that the host computes concurrently
  index_t page = -1;         ///< bytes between the loads of a chase
  index_t passes = -1;       ///< of the loop inside a kernel
};

/// The order in which the stages of a group of pieces, one of each stream, are issued.
enum class Issue {
  depth,   ///< all stages of a piece, then those of the next
  breadth  ///< a stage of all pieces, then the next stage
};

/// A parameter of some probes only.
using DeviceMember = index_t DeviceWalk::*;
struct DeviceParameter {
  const char* name;  ///< of its option and its column
  DeviceMember member;
  index_t low, high;
  const char* help;
  std::array<const char*, 2> words{};  ///< of the values from 0 on; nullptr: numbers
  bool bytes = false;                  ///< a number with units, "2MiB"
};
[[nodiscard]] std::span<const DeviceParameter> device_parameters();

/// The span of a transfer or kernel on its engine, in seconds since the first could begin.
struct DeviceSpan {
  const char* what;
  index_t piece, stream;
  double begin, end;
};

struct DeviceCheck {
  const char* method;
  double ratio, tolerance;  ///< correct unless !(ratio <= tolerance)
  index_t wrong = 0;        ///< elements, where all are compared
};

/// A probe with its data on the current device.
class DeviceProbe {
 public:
  DeviceProbe() = default;
  DeviceProbe(const DeviceProbe&) = delete;
  DeviceProbe& operator=(const DeviceProbe&) = delete;
  virtual ~DeviceProbe() = default;

  /// Runs once; returns the seconds between the device's events, without preparation.
  [[nodiscard]] virtual double run() = 0;
  /// Returns the check of the last run's results.
  [[nodiscard]] virtual DeviceCheck check() = 0;
  [[nodiscard]] virtual double work() const = 0;  ///< per run, in the row's units
  [[nodiscard]] virtual std::vector<DeviceSpan> spans() const { return {}; }  ///< of the last run
};

/// What a probe's result is worth: checked, or counted because its threads race on purpose.
enum class Result { checked, races };

struct DeviceProbeVariant : VariantInfo {
  const char* units;       ///< "GB/s" (bytes read plus bytes written), "GFLOP/s", ...
  const char* ceiling;     ///< the ceiling of the machine to compare with; "" for none
  int device_arrays;       ///< arrays of the size on the device
  int host_arrays;         ///< arrays on the host, including those of a check
  DeviceWalk usual;        ///< the supported parameters with their defaults
  index_t most_bytes = 0;  ///< 0: as much as fits
  Result result = Result::checked;
};

[[nodiscard]] std::span<const DeviceProbeVariant> device_probes();
[[nodiscard]] bool takes(const DeviceProbeVariant& row, const DeviceParameter& parameter);
/// Returns the walk with all defaults set. Throws Error(usage) for unsupported parameters.
[[nodiscard]] DeviceWalk completed(const DeviceProbeVariant& row, const DeviceWalk& walk);

/// Returns the probe; nullptr in a build without CUDA, for cuda_mma_f64 if the device's code is
/// older than 8.0, and for cuda_peer_to_peer where there is one device only. Preconditions: the
/// walk is complete; the rank's device is current.
[[nodiscard]] std::unique_ptr<DeviceProbe> make_probe(const DeviceProbeVariant& row,
                                                      const DeviceWalk& walk);
/// Returns whether make_probe supports the row.
[[nodiscard]] bool can_make(const DeviceProbeVariant& row);

/// The best of a few runs of a probe that is a ceiling, on the current device; none without CUDA.
struct DeviceCeiling {
  std::string name;
  double value;  ///< in units / 1e9
  std::string units;
};
[[nodiscard]] std::vector<DeviceCeiling> device_ceilings();

/// Returns the device functions for `tessera list --occupancy`; none without CUDA.
[[nodiscard]] std::vector<machine::DeviceFunction> device_functions();

// The same of libtessera_cuda.so.
[[nodiscard]] std::unique_ptr<DeviceProbe> compiled_probe(const DeviceProbeVariant& row,
                                                          const DeviceWalk& walk);
[[nodiscard]] bool has_compiled(const DeviceProbeVariant& row);
[[nodiscard]] std::vector<machine::DeviceFunction> compiled_functions();

}  // namespace tessera::inline v1::memory
