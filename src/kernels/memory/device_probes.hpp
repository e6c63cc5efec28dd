#pragma once
// Probes of a GPU: small kernels that show what one property of it costs, or what it can do at
// most. Their names stand in every build; they are made and run where CUDA is built and a device is
// there.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/variant.hpp"
#include "machine/occupancy.hpp"

namespace tessera::memory {

struct DeviceWalk {
  index_t bytes =
      0;  ///< of the data; 0: the probe's own, and of those in registers as many threads as fit
  index_t rounds = 0;  ///< launches a repetition, or steps of every thread; 0: the probe's own
  // The parameters that only some probes take; -1: the probe's own.
  index_t offset = -1;       ///< words before the first that is copied
  index_t lane_stride = -1;  ///< words from what a thread touches to what the next does
  index_t bins = -1;         ///< of a histogram
  index_t ways = -1;         ///< that the threads of a warp go
  index_t streams = -1;      ///< that share the pieces of a transfer
};

/// One of the parameters that only some probes take.
using DeviceMember = index_t DeviceWalk::*;
struct DeviceParameter {
  const char* name;  ///< of its option and its column
  DeviceMember member;
  index_t low, high;
  const char* help;
};
[[nodiscard]] std::span<const DeviceParameter> device_parameters();

/// A stay of a transfer or kernel on its engine, in seconds since the first could begin.
struct DeviceSpan {
  const char* what;
  index_t piece, stream;
  double begin, end;
};

struct DeviceCheck {
  const char* method;
  double ratio, tolerance;  ///< right where !(ratio <= tolerance) is false
};

/// A probe with its data on the current device.
class DeviceProbe {
 public:
  DeviceProbe() = default;
  DeviceProbe(const DeviceProbe&) = delete;
  DeviceProbe& operator=(const DeviceProbe&) = delete;
  virtual ~DeviceProbe() = default;

  /// Runs once; seconds as the device's events saw them, without what has to be prepared.
  [[nodiscard]] virtual double run() = 0;
  /// Whether the last run computed what it should.
  [[nodiscard]] virtual DeviceCheck check() = 0;
  [[nodiscard]] virtual double work() const = 0;  ///< of a run, in the row's units
  [[nodiscard]] virtual std::vector<DeviceSpan> spans() const { return {}; }  ///< of the last run
};

struct DeviceProbeVariant : VariantInfo {
  const char* units;       ///< "GB/s" (bytes read plus bytes written), "GFLOP/s", ...
  const char* ceiling;     ///< the machine's, that it is held against; "" for none
  int device_arrays;       ///< of the size, that it holds on the device
  int host_arrays;         ///< likewise on the host, with what a check takes
  DeviceWalk usual;        ///< the parameters that it takes, and what stands for none
  index_t most_bytes = 0;  ///< 0: what fits
};

[[nodiscard]] std::span<const DeviceProbeVariant> device_probes();
[[nodiscard]] bool takes(const DeviceProbeVariant& row, const DeviceParameter& parameter);
/// With everything set that is left to the probe. Throws Error(usage) on what it does not take.
[[nodiscard]] DeviceWalk completed(const DeviceProbeVariant& row, const DeviceWalk& walk);

/// nullptr in a build without CUDA. The walk is complete; the rank's device is current.
[[nodiscard]] std::unique_ptr<DeviceProbe> make_probe(const DeviceProbeVariant& row,
                                                      const DeviceWalk& walk);
/// Whether make_probe knows it.
[[nodiscard]] bool can_make(const DeviceProbeVariant& row);

/// The best of a few runs of the probes that are ceilings, on the current device; none without
/// CUDA.
struct DeviceCeiling {
  std::string name;
  double value;  ///< in units / 1e9
  std::string units;
};
[[nodiscard]] std::vector<DeviceCeiling> device_ceilings();

/// For `tessera list --occupancy`; none without CUDA.
[[nodiscard]] std::vector<machine::DeviceFunction> device_functions();

}  // namespace tessera::memory
