#pragma once
// GPUs of this node; none in a build without CUDA, or where its library is missing.

#include <string>
#include <vector>

#include "base/index.hpp"

namespace tessera::inline v1::machine {

/// A device as the driver describes it; 0 for values that the driver does not report.
struct Gpu {
  int number = 0;  ///< the driver's, from 0 on
  std::string name;
  index_t memory_bytes = 0;
  int multiprocessors = 0;
  int major = 0, minor = 0;  ///< compute capability
  double clock_hz = 0;       ///< maximal clock of the multiprocessors
  double memory_clock_hz = 0;
  int bus_bits = 0;
  index_t l2_bytes = 0;
  index_t shared_bytes = 0;    ///< per multiprocessor
  int registers = 0;           ///< of 32 bits, per multiprocessor
  int threads = 0;             ///< maximum per multiprocessor
  int blocks = 0;              ///< maximum per multiprocessor
  index_t reserved_bytes = 0;  ///< shared memory per block reserved by the system
  std::string pci;             ///< "0000:19:00.0"
  int warp = 0;                ///< threads
  int block_threads = 0;       ///< maximum per block; likewise the next ones
  int block_registers = 0;
  index_t block_shared_bytes = 0;
  index_t block_opt_in_bytes = 0;  ///< of shared memory, if a kernel asks for it
  index_t constant_bytes = 0;
  int copy_engines = 0;  ///< that transfer while kernels run
  bool concurrent_kernels = false, unified_addressing = false, ecc = false;
  bool takes_turns = false;  ///< among processes, as the driver reports: without CUDA's
                             ///< multi-process service

  /// Returns the peak bandwidth of device memory in bytes per second: two transfers per clock.
  [[nodiscard]] double bus_bandwidth() const { return 2 * memory_clock_hz * bus_bits / 8; }
};

struct Gpus {
  std::vector<Gpu> devices;  ///< those that libtessera_cuda.so has code for
  std::string reason;    ///< why `devices` is empty: a build without CUDA, a missing library, the
                         ///< driver's message, no code for them, ...
  std::string unusable;  ///< a sentence about devices without code; "" if there are none
  bool built = false;    ///< this build has CUDA
  std::string driver;  ///< "13.0": newest CUDA version supported by the driver; "" without a driver
};

/// Returns whether this build has CUDA; does not query the driver.
[[nodiscard]] bool built_with_cuda();
/// Returns the CUDA version of libtessera_cuda.so, "13.0", or "" without it; does not query the
/// driver, which takes half a second on nodes with GPUs.
[[nodiscard]] std::string cuda_version();

/// Returns the GPUs that the driver shows to this process, queried once. Never throws; without a
/// driver `devices` is empty and `reason` set.
[[nodiscard]] const Gpus& gpus();

/// Returns whether an NVIDIA GPU is on this machine's buses, even without a driver: then a fallback
/// to the CPU needs an explanation. `root` is the prefix of sys/ and dev/.
[[nodiscard]] bool shows_gpu_hardware(const std::string& root = "/");

/// Returns the leading dimension (elements) of rows of `cols` elements on a device; rows begin at
/// multiples of 16 bytes.
[[nodiscard]] constexpr index_t device_ld(index_t cols, index_t element_bytes) {
  const index_t divides =
      element_bytes & -element_bytes;  // largest power of two that divides element_bytes
  return round_up(cols, divides >= 16 ? 1 : 16 / divides);
}

/// Makes the device of this rank current: number local_rank modulo the device count. No effect
/// without a device.
void use_gpu(int local_rank);
/// Returns the device that this process last made current by use_gpu(); nullptr for none.
[[nodiscard]] const Gpu* gpu_in_use();
/// Returns the bytes available on the current device, including those that this process keeps for
/// reuse; 0 without a device. The first call on a device initialises it (some tenths of a second).
[[nodiscard]] index_t free_gpu_memory();
/// Returns the bytes of the current device that a kernel may use: `asked` if positive, otherwise
/// nine tenths of the free memory, because libraries and other ranks use some.
[[nodiscard]] inline index_t gpu_memory_limit(index_t asked) {
  return asked > 0 ? asked : free_gpu_memory() / 10 * 9;
}

}  // namespace tessera::inline v1::machine
