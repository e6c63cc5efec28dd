#include <vector>

#include "kernels/sort/algorithms.hpp"
#include "kernels/sort/cuda.hpp"
#include "machine/cuda_staging.hpp"
#include "machine/device_times.hpp"

namespace tessera::sort {
namespace {

namespace cuda = machine::cuda;

template <class Item>
auto one_row(Item* data, index_t n) {
  return in_bytes(matrix_view(data, 1, n));
}

/// Items in host memory on the device: items there, `sort(stream)` on them, items back; the times of the
/// three are kept.
template <class Item, class Sort>
void staged(const Block<Item>& block, Item* on_device, const Sort& sort) {
  cuda::Staging staging({.job_bytes = block.n * static_cast<index_t>(sizeof(Item))});
  staging.send(one_row<const Item>(block.data, block.n), one_row(on_device, block.n));
  staging.compute(sort);
  staging.bring(one_row(on_device, block.n), one_row(block.data, block.n));
  machine::add_device_times(staging.finish());
}

template <class Key, class Value>
using Sort = void (*)(const DeviceBlock<Key, Value>&, DeviceStream);
using Bytes = index_t (*)(index_t);

template <class Key, Sort<Key, NoValue> sort, Bytes bytes>
void keys_row(const Block<Key>& block) {
  if (block.n == 0) return;
  const cuda::DeviceBuffer<Key> keys(block.n), spare(block.n);
  const cuda::DeviceBuffer<std::byte> work(bytes(block.n));
  staged(block, keys.data(), [&](cudaStream_t stream) {
    sort({.keys = keys.data(),
          .spare_keys = spare.data(),
          .n = block.n,
          .map = block.map,
          .work = work.data()},
         stream);
  });
}

/// Their indices ascend, so that a stable sort by key is one by (key, index).
template <Sort<std::uint64_t, std::uint64_t> sort, Bytes bytes>
void pairs_row(const Block<Pair>& block) {
  if (block.n == 0) return;
  const cuda::DeviceBuffer<std::uint64_t> keys(block.n), values(block.n);
  const cuda::DeviceBuffer<Pair> pairs(block.n);  // then the spare arrays
  auto* const spare = reinterpret_cast<std::uint64_t*>(pairs.data());
  const cuda::DeviceBuffer<std::byte> work(bytes(block.n));
  staged(block, pairs.data(), [&](cudaStream_t stream) {
    split_pairs(pairs.data(), keys.data(), values.data(), block.n, stream);
    sort({.keys = keys.data(),
          .spare_keys = spare,
          .values = values.data(),
          .spare_values = spare + block.n,
          .n = block.n,
          .work = work.data()},
         stream);
    join_pairs(keys.data(), values.data(), pairs.data(), block.n, stream);
  });
}

}  // namespace

std::vector<Variant> cuda_rows() {
  using U32 = std::uint32_t;
  using U64 = std::uint64_t;
  constexpr std::uint64_t any_range = ~std::uint64_t{0};
#define ROW(variant)                                                       \
  keys_row<U32, variant<U32, NoValue>, variant##_bytes<U32, NoValue>>,     \
      keys_row<U64, variant<U64, NoValue>, variant##_bytes<U64, NoValue>>, \
      pairs_row<variant<U64, U64>, variant##_bytes<U64, U64>>
  return {
      {{"cuda_radix", Space::device,
        "one sweep a digit of 8 bits, decoupled look-back (Adinets and Merrill 2022)"},
       any_range,
       ROW(cuda_radix)},
      {{"cuda_merge", Space::device, "tiles in shared memory, then merge paths; stable (Green et al. 2012)"},
       any_range,
       ROW(cuda_merge)},
      {{"cuda_counting", Space::device, "one counter a key value, a block's own in shared memory"},
       counting_range,
       ROW(cuda_counting)},
      {{"cub", Space::device, "the vendor's radix sort, for reference"}, any_range, ROW(cub)},
  };
#undef ROW
}

std::vector<machine::DeviceFunction> device_functions() {
  std::vector<machine::DeviceFunction> all;
  add_radix_functions(all);
  add_merge_functions(all);
  add_counting_functions(all);
  add_pairs_functions(all);
  add_cub_functions(all);
  return all;
}

}  // namespace tessera::sort
