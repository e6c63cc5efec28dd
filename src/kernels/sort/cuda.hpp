#pragma once
// Sorting on the device: keys, and values that go with them, in device memory, on a stream.
//
// Every variant is stable, sorts in place by the mapped bits of the keys (key.hpp) and works in
// memory that its caller gives: the spare arrays of the block, and variant_bytes(n) bytes at
// block.work.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/sort/buckets.hpp"
#include "kernels/sort/key.hpp"
#include "kernels/sort/variants.hpp"
#include "machine/occupancy.hpp"

struct CUstream_st;

namespace tessera::sort {

using DeviceStream = CUstream_st*;  // cudaStream_t, for those that do not know CUDA

struct NoValue {};  ///< the value type of keys alone

/// What lies in the values before the sort.
enum class Payload {
  values,
  positions,  ///< nothing yet: each key's value is to be its position, 0 .. n-1 (argsort)
};

/// keys[0:n] with values[0:n]; the spare arrays overlap nothing and are overwritten. Keys alone
/// have no values.
template <class Key, class Value>
struct DeviceBlock {
  Key *keys = nullptr, *spare_keys = nullptr;
  Value *values = nullptr, *spare_values = nullptr;
  index_t n = 0;
  KeyMap<Key> map{};
  Payload payload = Payload::values;
  std::byte* work = nullptr;  ///< aligned to 256
};

/// Radix sort from the lowest digit of 8 bits, one sweep over memory a digit (Adinets and Merrill
/// 2022). Digits in which all keys agree are not swept; that is decided on the device.
template <class Key, class Value>
void cuda_radix(const DeviceBlock<Key, Value>& block, DeviceStream stream);
template <class Key, class Value>
[[nodiscard]] index_t cuda_radix_bytes(index_t n);

/// The same, but keys that are in order already where *done, in device memory, is not 0 when its
/// turn comes.
void cuda_radix_unless(const unsigned* done, const DeviceBlock<std::uint64_t, NoValue>& block,
                       DeviceStream stream);

/// Keys of 64 bits that are spread evenly over their range, 2^24 and more of them, are divided
/// twice by their leading bits and sorted in parts that fit shared memory, which moves half of the
/// bytes that sweeps of all digits do (after Stehle and Jacobsen 2017); whether they are is found
/// out on the device. All else by cuda_radix.
template <class Key, class Value>
void cuda_hybrid(const DeviceBlock<Key, Value>& block, DeviceStream stream);
template <class Key, class Value>
[[nodiscard]] index_t cuda_hybrid_bytes(index_t n);
/// Whether the n keys of 64 bits that were sorted last with this work memory were divided, and not
/// swept digit by digit or left as they were. Waits for the device.
[[nodiscard]] bool cuda_hybrid_divided(const std::byte* work, index_t n);
/// The same for any number of keys from 2^14 on, with work memory of cuda_hybrid for 2^24 or n of
/// them.
void cuda_divide(const DeviceBlock<std::uint64_t, NoValue>& block, DeviceStream stream);
[[nodiscard]] bool cuda_divided(const std::byte* work);
/// What it is made of, for ranks that divide their keys together.
[[nodiscard]] const buckets::Kernels* bucket_kernels();

/// Tiles sorted in shared memory, then merged two by two along merge paths (Green et al. 2012).
template <class Key, class Value>
void cuda_merge(const DeviceBlock<Key, Value>& block, DeviceStream stream);
template <class Key, class Value>
[[nodiscard]] index_t cuda_merge_bytes(index_t n);

/// A counter a key value, those of a block in shared memory where they fit; refuses a range above
/// counting_range. Waits for the device once. Keys with values go by cuda_radix, which leaves out
/// the digits of a small range that do not vary: one counter a value does not keep equal keys in
/// their order.
template <class Key, class Value>
void cuda_counting(const DeviceBlock<Key, Value>& block, DeviceStream stream);
template <class Key, class Value>
[[nodiscard]] index_t cuda_counting_bytes(index_t n);

/// The vendor's radix sort; up to 2^31 - 1 items.
template <class Key, class Value>
void cub(const DeviceBlock<Key, Value>& block, DeviceStream stream);
template <class Key, class Value>
[[nodiscard]] index_t cub_bytes(index_t n);

/// At the end of a variant's file.
#define TESSERA_SORT_INSTANTIATE_DEVICE(variant)                              \
  TESSERA_SORT_INSTANTIATE_DEVICE_FOR(variant, std::uint32_t, NoValue);       \
  TESSERA_SORT_INSTANTIATE_DEVICE_FOR(variant, std::uint64_t, NoValue);       \
  TESSERA_SORT_INSTANTIATE_DEVICE_FOR(variant, std::uint32_t, std::uint32_t); \
  TESSERA_SORT_INSTANTIATE_DEVICE_FOR(variant, std::uint64_t, std::uint32_t); \
  TESSERA_SORT_INSTANTIATE_DEVICE_FOR(variant, std::uint64_t, std::uint64_t)
#define TESSERA_SORT_INSTANTIATE_DEVICE_FOR(variant, Key, Value)       \
  template void variant(const DeviceBlock<Key, Value>&, DeviceStream); \
  template index_t variant##_bytes<Key, Value>(index_t)

/// keys[0:n] mapped to bits, and back; nothing where the map is the identity.
template <class Key>
void keys_to_bits(Key* keys, index_t n, const KeyMap<Key>& map, DeviceStream stream);
template <class Key>
void keys_to_raw(Key* keys, index_t n, const KeyMap<Key>& map, DeviceStream stream);

/// keys[i], values[i] = pairs[i], and back.
void split_pairs(const Pair* pairs, std::uint64_t* keys, std::uint64_t* values, index_t n,
                 DeviceStream stream);
void join_pairs(const std::uint64_t* keys, const std::uint64_t* values, Pair* pairs, index_t n,
                DeviceStream stream);

/// The rows for the table: each copies its items to the device, sorts and copies them back. Empty
/// in a build without CUDA.
[[nodiscard]] std::vector<Variant> cuda_rows();

/// The functions that the rows launch, for `tessera list --occupancy`.
[[nodiscard]] std::vector<machine::DeviceFunction> device_functions();
void add_radix_functions(std::vector<machine::DeviceFunction>& to);
void add_hybrid_functions(std::vector<machine::DeviceFunction>& to);
void add_merge_functions(std::vector<machine::DeviceFunction>& to);
void add_counting_functions(std::vector<machine::DeviceFunction>& to);
void add_pairs_functions(std::vector<machine::DeviceFunction>& to);
void add_cub_functions(std::vector<machine::DeviceFunction>& to);

}  // namespace tessera::sort
