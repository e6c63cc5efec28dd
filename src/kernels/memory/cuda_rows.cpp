// Dispatch from the names of the device probes to their factories.

#include <array>

#include "kernels/memory/cuda_probes.hpp"

namespace tessera::inline v1::memory {
namespace {

struct Row {
  std::string_view name;
  Maker make;
};

constexpr std::array<Row, 58> makers{{
    {"cuda_copy", cuda_copy},
    {"cuda_copy_engine", cuda_copy_engine},
    {"cuda_copy_offset", cuda_copy_offset},
    {"cuda_copy_stride", cuda_copy_stride},
    {"cuda_shared_stride", cuda_shared_stride},
    {"cuda_increment", cuda_increment},
    {"cuda_add", cuda_add},
    {"cuda_reverse", cuda_reverse<Reversal::direct>},
    {"cuda_reverse_static", cuda_reverse<Reversal::static_shared>},
    {"cuda_reverse_dynamic", cuda_reverse<Reversal::dynamic_shared>},
    {"cuda_reverse_race", cuda_reverse<Reversal::race>},
    {"cuda_read_constant", cuda_read_constant},
    {"cuda_read_texture", cuda_read_texture},
    {"cuda_read", [](const DeviceWalk& walk) { return cuda_read(walk, {}); }},
    {"cuda_reduce_interleaved", cuda_reduce_step<ReduceStep::interleaved>},
    {"cuda_reduce_sequential", cuda_reduce_step<ReduceStep::sequential>},
    {"cuda_reduce_first_add", cuda_reduce_step<ReduceStep::first_add>},
    {"cuda_reduce_shuffle", cuda_reduce_step<ReduceStep::shuffle>},
    {"cuda_reduce", [](const DeviceWalk& walk) { return cuda_reduce(walk, {}); }},
    {"cuda_histogram_global", cuda_histogram_global},
    {"cuda_histogram_shared", cuda_histogram_shared},
    {"cuda_pageable_to_device", cuda_transfer<HostMemory::pageable, Direction::to_device>},
    {"cuda_pinned_to_device", cuda_transfer<HostMemory::pinned, Direction::to_device>},
    {"cuda_managed_to_device", cuda_transfer<HostMemory::managed, Direction::to_device>},
    {"cuda_pageable_from_device", cuda_transfer<HostMemory::pageable, Direction::from_device>},
    {"cuda_pinned_from_device", cuda_transfer<HostMemory::pinned, Direction::from_device>},
    {"cuda_managed_from_device", cuda_transfer<HostMemory::managed, Direction::from_device>},
    {"cuda_streams", cuda_streams},
    {"cuda_peer_to_peer", cuda_peer_to_peer},
    {"cuda_chase", cuda_chase},
    {"cuda_chase_texture", cuda_chase_texture},
    {"cuda_chase_constant", cuda_chase_constant},
    {"cuda_chase_shared", cuda_chase_shared},
    {"cuda_chase_pages", cuda_chase_pages},
    {"cuda_divergence", cuda_divergence},
    {"cuda_fma_f32", cuda_fma<float>},
    {"cuda_fma_f64", cuda_fma<double>},
    {"cuda_mma_f64", cuda_mma_f64},
    {"cuda_exp_f64", cuda_exp<Exponential::f64>},
    {"cuda_exp_f32", cuda_exp<Exponential::f32>},
    {"cuda_exp_fast", cuda_exp<Exponential::fast>},
    {"cuda_rsqrt_divide", cuda_rsqrt<InverseRoot::divide>},
    {"cuda_rsqrt", cuda_rsqrt<InverseRoot::intrinsic>},
    {"cuda_rsqrt_fast", cuda_rsqrt<InverseRoot::fast>},
    {"cuda_barrier_block", cuda_barrier_block},
    {"cuda_barrier_grid", cuda_barrier_grid},
    {"cuda_transpose_copy", cuda_transpose<Transposing::copy>},
    {"cuda_transpose_copy_shared", cuda_transpose<Transposing::copy_shared>},
    {"cuda_transpose_naive", cuda_transpose<Transposing::naive>},
    {"cuda_transpose_coalesced", cuda_transpose<Transposing::coalesced>},
    {"cuda_transpose_conflict_free", cuda_transpose<Transposing::conflict_free>},
    {"cuda_transpose_fine_grained", cuda_transpose<Transposing::fine_grained>},
    {"cuda_transpose_coarse_grained", cuda_transpose<Transposing::coarse_grained>},
    {"cuda_transpose_diagonal", cuda_transpose<Transposing::diagonal>},
    {"cuda_transpose_one_block", cuda_transpose<Transposing::one_block>},
    {"cuda_transpose_row_a_block", cuda_transpose<Transposing::row_a_block>},
    {"cuda_transpose_16x16", cuda_transpose<Transposing::tiles_of_16>},
    {"cuda_empty", cuda_empty},
}};

Maker maker_of(std::string_view name) {
  for (const Row& row : makers) {
    if (row.name == name) return row.make;
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<DeviceProbe> compiled_probe(const DeviceProbeVariant& row, const DeviceWalk& walk) {
  return maker_of(row.name)(walk);
}

bool has_compiled(const DeviceProbeVariant& row) { return maker_of(row.name) != nullptr; }

std::vector<machine::DeviceFunction> compiled_functions() {
  Functions all;
  add_copy_functions(all);
  add_reduce_functions(all);
  add_histogram_functions(all);
  add_transfer_functions(all);
  add_divergence_functions(all);
  add_arithmetic_functions(all);
  add_chase_functions(all);
  add_element_functions(all);
  add_barrier_functions(all);
  add_readonly_functions(all);
  add_stream_functions(all);
  add_transpose_functions(all);
  return all;
}

}  // namespace tessera::inline v1::memory
