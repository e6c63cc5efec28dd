// A libnvidia-ml.so.1 of two GPUs: 0000:19:00.0 counts energy, 0000:1A:00.0 reports power only. The
// test sets their readings.

#include <string.h>

static unsigned long long energy = 0;
static unsigned power = 0;
static int result = 0, initialised = 0;

void fake_nvml_energy(unsigned long long millijoules) { energy = millijoules; }
void fake_nvml_power(unsigned milliwatts) { power = milliwatts; }
void fake_nvml_result(int of_readings) { result = of_readings; }

int nvmlInit_v2(void) {
  ++initialised;
  return 0;
}

static char counting, reporting;

int nvmlDeviceGetHandleByPciBusId_v2(const char* pci, void** device) {
  if (initialised != 1) return 1;
  *device = strcmp(pci, "0000:19:00.0") == 0   ? &counting
            : strcmp(pci, "0000:1A:00.0") == 0 ? &reporting
                                               : NULL;
  return *device == NULL ? 6 : 0;
}

int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  *millijoules = energy;
  return device == &counting ? result : 3;
}

int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  (void)device;
  *milliwatts = power;
  return result;
}

const char* nvmlErrorString(int code) {
  return code == 6 ? "Not Found" : code == 15 ? "GPU is lost" : "Not Supported";
}
