// The device variants of sort as rows of the table; in runs if the device cannot hold the items.

#include <vector>

#include "kernels/sort/algorithms.hpp"
#include "kernels/sort/cuda_argsort.hpp"
#include "kernels/sort/cuda_runs.hpp"

namespace tessera::inline v1::sort {
namespace {

template <class Key, class Value>
using Sort = void (*)(const DeviceBlock<Key, Value>&, DeviceStream);
using Bytes = index_t (*)(index_t);

template <class Key, Sort<Key, NoValue> sort, Bytes bytes>
void keys_row(const Block<Key>& block) {
  using Room = KeyRoom<Key, sort, bytes>;
  sort_through_device<Room>(block, [&](index_t n, bool several) {
    return Room(n, block.map, several ? Room::Leaves::bits : Room::Leaves::keys);
  });
}

template <Sort<std::uint64_t, std::uint64_t> sort, Bytes bytes>
void pairs_row(const Block<Pair>& block) {
  using Room = PairRoom<sort, bytes>;
  sort_through_device<Room>(block, [](index_t n, bool) { return Room(n); });
}

}  // namespace

std::vector<Variant> compiled_rows() {
  using U32 = std::uint32_t;
  using U64 = std::uint64_t;
  constexpr std::uint64_t any_range = ~std::uint64_t{0};
#define ROW(variant)                                                       \
  keys_row<U32, variant<U32, NoValue>, variant##_bytes<U32, NoValue>>,     \
      keys_row<U64, variant<U64, NoValue>, variant##_bytes<U64, NoValue>>, \
      pairs_row<variant<U64, U64>, variant##_bytes<U64, U64>>
  return {
      {entry(cuda_names, "cuda_radix"), any_range, ROW(cuda_radix)},
      {entry(cuda_names, "cuda_hybrid"), any_range, ROW(cuda_hybrid)},
      {entry(cuda_names, "cuda_merge"), any_range, ROW(cuda_merge)},
      {entry(cuda_names, "cuda_counting"), counting_range, ROW(cuda_counting)},
      {entry(cuda_names, "cub"), any_range, ROW(cub)},
  };
#undef ROW
}

std::vector<machine::DeviceFunction> compiled_functions() {
  std::vector<machine::DeviceFunction> all;
  add_radix_functions(all);
  add_argsort_functions(all);
  add_hybrid_functions(all);
  add_merge_functions(all);
  add_counting_functions(all);
  add_pairs_functions(all);
  add_cub_functions(all);
  return all;
}

}  // namespace tessera::inline v1::sort
