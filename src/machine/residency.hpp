#pragma once
// Residency: the blocks of a shape that a multiprocessor holds at a time, by arithmetic alone, for
// any compute capability and without a device.

#include <span>
#include <string>
#include <string_view>

#include "base/index.hpp"

namespace tessera::inline v1::machine {

inline constexpr index_t warp_threads = 32;

/// What a multiprocessor has, and in which units it allocates.
struct Multiprocessor {
  index_t threads = 0;           ///< resident at most
  index_t blocks = 0;            ///< resident at most
  index_t registers = 0;         ///< of 32 bits
  index_t block_registers = 0;   ///< of a block at most
  index_t thread_registers = 0;  ///< of a thread at most
  index_t register_unit = 256;   ///< registers, allocated to a warp
  index_t partitions = 4;        ///< each with its part of the registers
  index_t checked_warps = 4;     ///< a launch is checked for multiples of these
  index_t shared_bytes = 0;
  index_t block_shared_bytes = 0;  ///< that a block can request at most
  index_t shared_unit = 128;       ///< bytes, allocated to a block
  index_t reserved_bytes = 0;      ///< of shared memory, of every block, for the system
};

/// A block as it is launched.
struct BlockShape {
  index_t threads = 0;
  index_t registers = 0;     ///< per thread
  index_t shared_bytes = 0;  ///< static and dynamic
};

/// How many blocks fit into a multiprocessor, in all and by each resource alone.
struct Residency {
  index_t blocks = 0, warps = 0;
  double occupancy = 0;  ///< resident warps over the most possible
  index_t by_warps = 0, by_blocks = 0, by_registers = 0, by_shared = 0;
  index_t block_registers = 0, block_shared_bytes = 0;  ///< as allocated
  std::string limit;  ///< "warps", "blocks", "registers", "shared memory"; several if they tie
};

/// Returns how many blocks of the shape are resident, as cudaOccupancyMaxActiveBlocksPer-
/// Multiprocessor computes it (NVIDIA, cuda_occupancy.h of CUDA 13 and the Occupancy Calculator):
/// registers are allocated to warps in units, in each partition by itself; shared memory to blocks
/// in units, the system's part included. No block fits that cannot be launched.
[[nodiscard]] Residency residency(const Multiprocessor& of, const BlockShape& block);

struct ComputeCapability {
  std::string_view version;  ///< "9.0"
  std::string_view example;  ///< of its devices
  Multiprocessor multiprocessor;
};

/// Returns the table from 2.0 to 12.0 (NVIDIA, CUDA C++ Programming Guide, technical specifications
/// per compute capability; Occupancy Calculator for 2.0 to 6.1).
[[nodiscard]] std::span<const ComputeCapability> compute_capabilities();

/// Returns the row of a version. Throws Error(usage), naming the nearest.
[[nodiscard]] const ComputeCapability& compute_capability(std::string_view version);

}  // namespace tessera::inline v1::machine
