#include "machine/nvml.hpp"

#include <dlfcn.h>

#include <cmath>
#include <utility>

#include "base/timer.hpp"
#include "machine/loaded.hpp"

namespace tessera::inline v1::machine {
namespace {

// The subset of the NVML interface in use (NVIDIA 2025), without the prefix of its names.
using Result = int;  // 0: success
using Device = void*;

struct Library {
  std::string missing;
  Result (*init)() = nullptr;
  Result (*device)(const char* pci, Device*) = nullptr;
  Result (*energy)(Device, unsigned long long* millijoules) = nullptr;
  Result (*power)(Device, unsigned* milliwatts) = nullptr;
  const char* (*text)(Result) = nullptr;
};

Library load() {
  Library found;
  void* const file = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (file == nullptr) {
    const char* const why = dlerror();
    found.missing = why != nullptr ? why : "libnvidia-ml.so.1 cannot be loaded";
    return found;
  }
  find_function(file, "nvmlInit_v2", found.init, found.missing);
  find_function(file, "nvmlDeviceGetHandleByPciBusId_v2", found.device, found.missing);
  find_function(file, "nvmlDeviceGetPowerUsage", found.power, found.missing);
  find_function(file, "nvmlErrorString", found.text, found.missing);
  std::string of_old_drivers;
  find_function(file, "nvmlDeviceGetTotalEnergyConsumption", found.energy, of_old_drivers);
  if (!found.missing.empty()) return found;
  if (const Result rc = found.init(); rc != 0)
    found.missing = std::string("nvmlInit: ") + found.text(rc);
  return found;
}

const Library& library() {
  static const Library found = load();
  return found;
}

/// The update of the sensors of A100, H100 and older GPUs takes 20 to 100 ms (Yang et al. 2024).
constexpr double update_seconds = 0.1;

class Gpu : public EnergyCounter {
 public:
  Gpu(Device device, const std::string& pci) : device_(device) {
    domain = "gpu";
    id = pci;
    update = update_seconds;
  }
  double watts() override {
    unsigned milliwatts = 0;
    return library().power(device_, &milliwatts) == 0 ? 1e-3 * milliwatts : NAN;
  }

 protected:
  double fail(const char* call, Result rc) {
    missing = std::string(call) + ": " + library().text(rc);
    return NAN;
  }
  Device device_;
};

/// A GPU that counts its energy.
class CountingGpu : public Gpu {
 public:
  CountingGpu(Device device, const std::string& pci, unsigned long long first)
      : Gpu(device, pci), first_(first) {
    source = "NVML";
  }
  double joules() override {
    if (!missing.empty()) return NAN;
    unsigned long long now = 0;
    if (const Result rc = library().energy(device_, &now); rc != 0)
      return fail("nvmlDeviceGetTotalEnergyConsumption", rc);
    return 1e-3 * static_cast<double>(now - first_);
  }

 private:
  unsigned long long first_;
};

/// A GPU that reports its power only, integrated by the trapezoidal rule.
class PowerGpu : public Gpu {
 public:
  PowerGpu(Device device, const std::string& pci, unsigned first)
      : Gpu(device, pci), last_(1e-3 * first) {
    source = "NVML power";
    longest_gap = update_seconds / 2;
  }
  double joules() override {
    if (!missing.empty()) return NAN;
    unsigned milliwatts = 0;
    if (const Result rc = library().power(device_, &milliwatts); rc != 0)
      return fail("nvmlDeviceGetPowerUsage", rc);
    const double now = 1e-3 * milliwatts;
    sum_ += (now + last_) / 2 * since_.restart();
    last_ = now;
    return sum_;
  }

 private:
  double last_, sum_ = 0;
  Timer since_;
};

}  // namespace

EnergyCounters gpu_energy_counter(const std::string& pci) {
  EnergyCounters found;
  const Library& nvml = library();
  if (!nvml.missing.empty()) {
    found.missing = nvml.missing;
    return found;
  }
  Device device = nullptr;
  if (const Result rc = nvml.device(pci.c_str(), &device); rc != 0) {
    found.missing = "GPU " + pci + ": " + nvml.text(rc);
    return found;
  }
  unsigned long long energy = 0;
  unsigned power = 0;
  if (nvml.energy != nullptr && nvml.energy(device, &energy) == 0)
    found.all.push_back(std::make_unique<CountingGpu>(device, pci, energy));
  else if (const Result rc = nvml.power(device, &power); rc == 0)
    found.all.push_back(std::make_unique<PowerGpu>(device, pci, power));
  else
    found.missing = "GPU " + pci + ": " + nvml.text(rc);
  return found;
}

}  // namespace tessera::inline v1::machine
