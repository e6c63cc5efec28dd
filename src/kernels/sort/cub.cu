// The vendor's radix sort (CUB), for reference.

#include <cub/device/device_radix_sort.cuh>
#include <string>

#include "kernels/sort/cuda_device.cuh"

namespace tessera::inline v1::sort {
namespace {

constexpr int threads = 512;

template <class Value>
__global__ void write_positions(Value* values, index_t n) {
  const index_t step = static_cast<index_t>(gridDim.x) * blockDim.x;
  for (index_t i = static_cast<index_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step)
    values[i] = static_cast<Value>(i);
}

/// Sorts the block; if work == nullptr, only sets `bytes` to the required work memory.
template <class Key, class Value>
void call(const DeviceBlock<Key, Value>& block, void* work, std::size_t& bytes,
          cudaStream_t stream) {
  require(block.n <= std::numeric_limits<int>::max(), ExitCode::usage,
          "kernel cub sorts at most 2^31 - 1 items; use cuda_radix");
  const int n = static_cast<int>(block.n);
  const auto bring_back = [&](auto* from, auto* to) {
    if (work == nullptr || from == to) return;
    machine::cuda::check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(n) * sizeof(*to),
                                         cudaMemcpyDeviceToDevice, stream),
                         "cudaMemcpyAsync");
  };
  ::cub::DoubleBuffer<Key> keys(block.keys, block.spare_keys);
  if constexpr (has_values<Value>) {
    ::cub::DoubleBuffer<Value> values(block.values, block.spare_values);
    machine::cuda::check(
        ::cub::DeviceRadixSort::SortPairs(work, bytes, keys, values, n, 0, 8 * sizeof(Key), stream),
        "cub::DeviceRadixSort::SortPairs");
    bring_back(values.Current(), block.values);
  } else {
    machine::cuda::check(
        ::cub::DeviceRadixSort::SortKeys(work, bytes, keys, n, 0, 8 * sizeof(Key), stream),
        "cub::DeviceRadixSort::SortKeys");
  }
  bring_back(keys.Current(), block.keys);
}

}  // namespace

template <class Key, class Value>
index_t cub_bytes(index_t n) {
  std::size_t bytes = 0;
  DeviceBlock<Key, Value> block;
  block.n = n;
  if (n > 0) call(block, nullptr, bytes, nullptr);
  return static_cast<index_t>(bytes);
}

template <class Key, class Value>
void cub(const DeviceBlock<Key, Value>& block, DeviceStream stream) {
  if (block.n == 0) return;
  if constexpr (has_values<Value>) {
    if (block.payload == Payload::positions) {
      write_positions<<<multiprocessors() * 4, threads, 0, stream>>>(block.values, block.n);
      check_launch("write_positions");
    }
  }
  keys_to_bits(block.keys, block.n, block.map, stream);  // the vendor's order treats -0 and +0 as
                                                         // equal
  std::size_t bytes = static_cast<std::size_t>(cub_bytes<Key, Value>(block.n));
  call(block, block.work, bytes, stream);
  keys_to_raw(block.keys, block.n, block.map, stream);
}

TESSERA_SORT_INSTANTIATE_DEVICE(cub);

/// Appends this file's kernels; the library does not report its own.
void add_cub_functions(std::vector<machine::DeviceFunction>& to) {
  const auto add = [&](const std::string& of, auto* function) {
    to.push_back(machine::device_function("cub", of, function, threads));
  };
  add("positions of 4 bytes", write_positions<std::uint32_t>);
  add("positions of 8 bytes", write_positions<std::uint64_t>);
}

}  // namespace tessera::inline v1::sort
