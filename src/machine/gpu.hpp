#pragma once
// GPUs of this node; none in a build or on a machine without CUDA.

#include <string>
#include <vector>

#include "base/index.hpp"

namespace tessera::machine {

/// A device as the driver describes it. What a driver does not tell is 0.
struct Gpu {
  std::string name;
  index_t memory_bytes = 0;
  int multiprocessors = 0;
  int major = 0, minor = 0;  ///< compute capability
  double clock_hz = 0;       ///< the highest of the multiprocessors
  double memory_clock_hz = 0;
  int bus_bits = 0;
  index_t l2_bytes = 0;
  index_t shared_bytes = 0;    ///< of a multiprocessor
  int registers = 0;           ///< of a multiprocessor, of 32 bits
  int threads = 0;             ///< that a multiprocessor holds at most
  int blocks = 0;              ///< that a multiprocessor holds at most
  index_t reserved_bytes = 0;  ///< of shared memory, that the system takes of every block
  std::string pci;             ///< "0000:19:00.0"

  /// Bytes a second between the device and its memory if every cycle of the bus moved some: two
  /// transfers a clock.
  [[nodiscard]] double bus_bandwidth() const { return 2 * memory_clock_hz * bus_bits / 8; }
};

struct Gpus {
  std::vector<Gpu> devices;
  std::string reason;   ///< why there are none: "built without CUDA", the driver's words, ...
  bool built = false;   ///< this build has CUDA
  std::string driver;   ///< "13.0": the newest CUDA that the driver serves; "" without one
  std::string runtime;  ///< "13.0": the CUDA that this program was built with; "" without
};

/// Whether this build has CUDA; asks no driver.
[[nodiscard]] bool built_with_cuda();

/// What the driver shows to this process, looked at once. Never throws: no driver is no GPU, with
/// the reason.
[[nodiscard]] const Gpus& gpus();

/// A GPU of NVIDIA's is on this machine's buses, whether there is a driver for it or not: then who
/// gets the CPU instead should know why. Below `root` lie sys/ and dev/.
[[nodiscard]] bool shows_gpu_hardware(const std::string& root = "/");

/// Elements from a row to the next on a device, where rows of `cols` elements begin on 16 bytes.
[[nodiscard]] constexpr index_t device_ld(index_t cols, index_t element_bytes) {
  const index_t divides = element_bytes & -element_bytes;  // the largest power of two that does
  return round_up(cols, divides >= 16 ? 1 : 16 / divides);
}

/// Makes the device of this rank current: number local_rank modulo the devices there are. Nothing
/// without one.
void use_gpu(int local_rank);
/// Bytes that could be had now on the current device, those that this process keeps for later among
/// them; 0 without a device. The first call on a device starts it (some tenths of a second).
[[nodiscard]] index_t free_gpu_memory();
/// The bytes that a kernel may take of the current device: those that were asked for, where they
/// were, else nine tenths of what is free, as libraries and other ranks take some.
[[nodiscard]] inline index_t gpu_memory_limit(index_t asked) {
  return asked > 0 ? asked : free_gpu_memory() / 10 * 9;
}

}  // namespace tessera::machine
