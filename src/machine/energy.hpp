#pragma once
// Energy counters of this node: those of processors (Linux powercap, which Intel's RAPL and AMD's
// counters share) and of NVIDIA GPUs (machine/nvml.hpp), and a meter that reads them.

#include <condition_variable>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/timer.hpp"

namespace tessera::inline v1::machine {

/// A counter of the energy of a part of this node.
class EnergyCounter {
 public:
  EnergyCounter() = default;
  EnergyCounter(const EnergyCounter&) = delete;
  EnergyCounter& operator=(const EnergyCounter&) = delete;
  virtual ~EnergyCounter() = default;
  /// Returns the joules since construction; NaN from the first failed reading on, whose reason is
  /// then in `missing`.
  [[nodiscard]] virtual double joules() = 0;
  /// Returns the watts that the sensor reports, the mean of a time that it chooses; NaN if it
  /// counts energy only.
  [[nodiscard]] virtual double watts() { return std::numeric_limits<double>::quiet_NaN(); }

  std::string domain;       ///< "package", "dram", "platform" (which contains both) or "gpu"
  std::string id;           ///< unique on the node: "intel-rapl:0", the PCI address of a GPU
  std::string source;       ///< "powercap", "NVML", "NVML power" (integrated)
  double update = 0;        ///< seconds between two updates of the counter
  double longest_gap = 10;  ///< seconds between two readings, at most: it wraps around
  std::string missing;      ///< why readings fail
};

/// Counters that can be read, and why others cannot.
struct EnergyCounters {
  std::vector<std::unique_ptr<EnergyCounter>> all;
  std::string missing;
};

/// Returns $TESSERA_POWERCAP, or /sys/class/powercap.
[[nodiscard]] std::string powercap_folder();

/// Returns the counters of packages, of their memory and of the platform from the zones
/// `intel-rapl:*` of a powercap folder (Intel since Sandy Bridge, AMD since Zen). Zones of cores
/// are part of a package, and those of `intel-rapl-mmio` are the same packages once more. Without
/// any, `missing` has the system's reason: files of virtual machines and containers are absent, and
/// those of Linux since 5.10 are readable by root only (CVE-2020-8694).
[[nodiscard]] EnergyCounters powercap_counters(const std::string& folder = powercap_folder());

/// Returns whether a counter of `folder` can be read, or the node has an NVIDIA GPU with a driver.
[[nodiscard]] bool may_count_energy(const std::string& folder = powercap_folder(),
                                    const std::string& driver = "/dev/nvidiactl");

/// Adds up the energy of counters in windows of time. A thread reads them in between, so that no
/// wrap-around is missed and powers are integrated.
class EnergyMeter {
 public:
  explicit EnergyMeter(std::vector<std::unique_ptr<EnergyCounter>> counters);
  ~EnergyMeter();
  EnergyMeter(const EnergyMeter&) = delete;
  EnergyMeter& operator=(const EnergyMeter&) = delete;

  /// Begins a window, which ends with stop().
  void start();
  void stop();

  /// Energy of the windows since the last take(), by counter.
  struct Windows {
    std::vector<double> joules;  ///< NaN where a reading failed
    double seconds = 0;
  };
  [[nodiscard]] Windows take();

  [[nodiscard]] const std::vector<std::unique_ptr<EnergyCounter>>& counters() const {
    return counters_;
  }

 private:
  [[nodiscard]] std::vector<double> read();
  void keep_reading();

  const std::vector<std::unique_ptr<EnergyCounter>> counters_;
  std::vector<double> begun_;
  Timer clock_;
  Windows windows_;
  std::mutex mutex_;  // of the counters' readings
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace tessera::inline v1::machine
