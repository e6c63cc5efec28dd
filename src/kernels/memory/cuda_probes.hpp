#pragma once
// The factories of the device probes, each defined with its kernels. Their walks are complete.

#include "kernels/memory/device_probes.hpp"

namespace tessera::inline v1::memory {

using Maker = std::unique_ptr<DeviceProbe> (*)(const DeviceWalk&);

[[nodiscard]] std::unique_ptr<DeviceProbe> cuda_copy(const DeviceWalk& walk);
[[nodiscard]] std::unique_ptr<DeviceProbe> cuda_copy_engine(const DeviceWalk& walk);
[[nodiscard]] std::unique_ptr<DeviceProbe> cuda_copy_offset(const DeviceWalk& walk);
[[nodiscard]] std::unique_ptr<DeviceProbe> cuda_copy_stride(const DeviceWalk& walk);
[[nodiscard]] std::unique_ptr<DeviceProbe> cuda_shared_stride(const DeviceWalk& walk);

[[nodiscard]] std::unique_ptr<DeviceProbe> cuda_increment(const DeviceWalk& walk);
[[nodiscard]] std::unique_ptr<DeviceProbe> cuda_add(const DeviceWalk& walk);
enum class Reversal { direct, static_shared, dynamic_shared, race };
template <Reversal kind>
[[nodiscard]] std::unique_ptr<DeviceProbe> cuda_reverse(const DeviceWalk& walk);

[[nodiscard]] std::unique_ptr<DeviceProbe> cuda_read_constant(const DeviceWalk& walk);
[[nodiscard]] std::unique_ptr<DeviceProbe> cuda_read_texture(const DeviceWalk& walk);

/// The optimisation steps of Harris (2007), in order.
enum class ReduceStep { interleaved, sequential, first_add, shuffle };
template <ReduceStep step>
[[nodiscard]] std::unique_ptr<DeviceProbe> cuda_reduce_step(const DeviceWalk& walk);
/// Launch parameters of the streaming reduction and the read: 16-byte loads in flight per thread,
/// threads per block, blocks per multiprocessor.
struct StreamTuning {
  int loads = 4, threads = 512, blocks = 4;
};
[[nodiscard]] std::unique_ptr<DeviceProbe> cuda_read(const DeviceWalk& walk,
                                                     const StreamTuning& tuning);
[[nodiscard]] std::unique_ptr<DeviceProbe> cuda_reduce(const DeviceWalk& walk,
                                                       const StreamTuning& tuning);

[[nodiscard]] std::unique_ptr<DeviceProbe> cuda_histogram_global(const DeviceWalk& walk);
[[nodiscard]] std::unique_ptr<DeviceProbe> cuda_histogram_shared(const DeviceWalk& walk);

[[nodiscard]] std::unique_ptr<DeviceProbe> cuda_chase(const DeviceWalk& walk);
[[nodiscard]] std::unique_ptr<DeviceProbe> cuda_chase_texture(const DeviceWalk& walk);
[[nodiscard]] std::unique_ptr<DeviceProbe> cuda_chase_constant(const DeviceWalk& walk);
[[nodiscard]] std::unique_ptr<DeviceProbe> cuda_chase_shared(const DeviceWalk& walk);
[[nodiscard]] std::unique_ptr<DeviceProbe> cuda_chase_pages(const DeviceWalk& walk);

enum class HostMemory { pageable, pinned, managed };
enum class Direction { to_device, from_device };
template <HostMemory memory, Direction direction>
[[nodiscard]] std::unique_ptr<DeviceProbe> cuda_transfer(const DeviceWalk& walk);
[[nodiscard]] std::unique_ptr<DeviceProbe> cuda_streams(const DeviceWalk& walk);
/// Returns nullptr where there is one device only.
[[nodiscard]] std::unique_ptr<DeviceProbe> cuda_peer_to_peer(const DeviceWalk& walk);

[[nodiscard]] std::unique_ptr<DeviceProbe> cuda_divergence(const DeviceWalk& walk);
[[nodiscard]] std::unique_ptr<DeviceProbe> cuda_empty(const DeviceWalk& walk);
template <class T>
[[nodiscard]] std::unique_ptr<DeviceProbe> cuda_fma(const DeviceWalk& walk);
[[nodiscard]] std::unique_ptr<DeviceProbe> cuda_mma_f64(const DeviceWalk& walk);
enum class Exponential { f64, f32, fast };
template <Exponential kind>
[[nodiscard]] std::unique_ptr<DeviceProbe> cuda_exp(const DeviceWalk& walk);
enum class InverseRoot { divide, intrinsic, fast };
template <InverseRoot kind>
[[nodiscard]] std::unique_ptr<DeviceProbe> cuda_rsqrt(const DeviceWalk& walk);

[[nodiscard]] std::unique_ptr<DeviceProbe> cuda_barrier_block(const DeviceWalk& walk);
[[nodiscard]] std::unique_ptr<DeviceProbe> cuda_barrier_grid(const DeviceWalk& walk);

/// The steps of the transposition ladder (kernels/transpose/cuda.hpp), and launches of the naive
/// one that use few blocks or small tiles.
enum class Transposing {
  copy,
  copy_shared,
  naive,
  coalesced,
  conflict_free,
  fine_grained,
  coarse_grained,
  diagonal,
  one_block,
  row_a_block,
  tiles_of_16
};
template <Transposing way>
[[nodiscard]] std::unique_ptr<DeviceProbe> cuda_transpose(const DeviceWalk& walk);

// Append the device functions of each file.
using Functions = std::vector<machine::DeviceFunction>;
void add_copy_functions(Functions& to);
void add_reduce_functions(Functions& to);
void add_histogram_functions(Functions& to);
void add_transfer_functions(Functions& to);
void add_arithmetic_functions(Functions& to);
void add_divergence_functions(Functions& to);
void add_chase_functions(Functions& to);
void add_element_functions(Functions& to);
void add_barrier_functions(Functions& to);
void add_readonly_functions(Functions& to);
void add_stream_functions(Functions& to);
void add_transpose_functions(Functions& to);

}  // namespace tessera::inline v1::memory
