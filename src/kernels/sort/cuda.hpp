#pragma once
// Device sorts: keys, and optional values, in device memory, on a stream.
//
// Every variant is stable, sorts in place by the mapped bits of the keys (key.hpp) and uses work
// memory of the caller: the spare arrays of the block, and variant_bytes(n) bytes at block.work.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/sort/buckets.hpp"
#include "kernels/sort/key.hpp"
#include "kernels/sort/variants.hpp"
#include "machine/occupancy.hpp"

struct CUstream_st;

namespace tessera::inline v1::sort {

using DeviceStream = CUstream_st*;  // cudaStream_t, for files without CUDA headers

struct NoValue {};  ///< the value type of plain keys

/// The contents of the values before the sort.
enum class Payload {
  values,
  positions,  ///< undefined: each key's value is to be its position, 0 .. n-1 (argsort)
};

/// keys[0:n] with values[0:n]; the spare arrays overlap nothing and are overwritten. Plain keys
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

/// Sorts by LSD radix sort with digits of 8 bits and one sweep over memory per digit (onesweep,
/// Adinets and Merrill 2022). Digits in which all keys agree are skipped, by a decision on the
/// device.
template <class Key, class Value>
void cuda_radix(const DeviceBlock<Key, Value>& block, DeviceStream stream);
template <class Key, class Value>
[[nodiscard]] index_t cuda_radix_bytes(index_t n);

/// Sorts plain keys likewise; has no effect if *done, in device memory, is not 0 when its turn
/// comes: the keys are then in order.
void cuda_radix_unless(const unsigned* done, const DeviceBlock<std::uint64_t, NoValue>& block,
                       DeviceStream stream);

/// Sorts by MSD division (after Stehle and Jacobsen 2017): at least 2^24 64-bit keys that are
/// evenly distributed over their range, as determined on the device, are divided twice by their
/// leading bits and sorted in parts that fit shared memory, with half of the memory traffic of
/// sweeps of all digits. All others are sorted by cuda_radix, and on devices with less than 84 KiB
/// of shared memory per block all are.
template <class Key, class Value>
void cuda_hybrid(const DeviceBlock<Key, Value>& block, DeviceStream stream);
template <class Key, class Value>
[[nodiscard]] index_t cuda_hybrid_bytes(index_t n);
/// Returns whether the n 64-bit keys that were sorted last with this work memory were divided, not
/// swept digit by digit or left in order. Waits for the device.
[[nodiscard]] bool cuda_hybrid_divided(const std::byte* work, index_t n);
/// Sorts by division, for any number of keys from 2^14 on, with work memory of cuda_hybrid for 2^24
/// or n of them.
void cuda_divide(const DeviceBlock<std::uint64_t, NoValue>& block, DeviceStream stream);
[[nodiscard]] bool cuda_divided(const std::byte* work);
/// Returns its kernels, for ranks that divide their keys together.
[[nodiscard]] const buckets::Kernels* bucket_kernels();

/// Sorts by merging: tiles sorted in shared memory, then merged pairwise along merge paths (Green
/// et al. 2012).
template <class Key, class Value>
void cuda_merge(const DeviceBlock<Key, Value>& block, DeviceStream stream);
template <class Key, class Value>
[[nodiscard]] index_t cuda_merge_bytes(index_t n);

/// Sorts by counting, with one counter per key value, per block in shared memory if they fit;
/// refuses a range above counting_range. Waits for the device once. Keys with values are sorted by
/// cuda_radix, which skips the constant digits of a small range: counters alone do not keep equal
/// keys in order.
template <class Key, class Value>
void cuda_counting(const DeviceBlock<Key, Value>& block, DeviceStream stream);
template <class Key, class Value>
[[nodiscard]] index_t cuda_counting_bytes(index_t n);

/// Sorts by the vendor's radix sort; up to 2^31 - 1 items.
template <class Key, class Value>
void cub(const DeviceBlock<Key, Value>& block, DeviceStream stream);
template <class Key, class Value>
[[nodiscard]] index_t cub_bytes(index_t n);

/// Instantiates a variant, at the end of its file.
#define TESSERA_SORT_INSTANTIATE_DEVICE(variant)                              \
  TESSERA_SORT_INSTANTIATE_DEVICE_FOR(variant, std::uint32_t, NoValue);       \
  TESSERA_SORT_INSTANTIATE_DEVICE_FOR(variant, std::uint64_t, NoValue);       \
  TESSERA_SORT_INSTANTIATE_DEVICE_FOR(variant, std::uint32_t, std::uint32_t); \
  TESSERA_SORT_INSTANTIATE_DEVICE_FOR(variant, std::uint64_t, std::uint32_t); \
  TESSERA_SORT_INSTANTIATE_DEVICE_FOR(variant, std::uint64_t, std::uint64_t)
#define TESSERA_SORT_INSTANTIATE_DEVICE_FOR(variant, Key, Value)       \
  template void variant(const DeviceBlock<Key, Value>&, DeviceStream); \
  template index_t variant##_bytes<Key, Value>(index_t)

/// Maps keys[0:n] to bits, and back; no effect if the map is the identity.
template <class Key>
void keys_to_bits(Key* keys, index_t n, const KeyMap<Key>& map, DeviceStream stream);
template <class Key>
void keys_to_raw(Key* keys, index_t n, const KeyMap<Key>& map, DeviceStream stream);

/// Converts keys[i], values[i] = pairs[i], and back.
void split_pairs(const Pair* pairs, std::uint64_t* keys, std::uint64_t* values, index_t n,
                 DeviceStream stream);
void join_pairs(const std::uint64_t* keys, const std::uint64_t* values, Pair* pairs, index_t n,
                DeviceStream stream);

/// The device rows of the table: names and descriptions, those of a build whose library is missing,
/// too.
inline constexpr std::array<VariantInfo, 5> cuda_names{{
    {"cuda_radix", Space::device,
     "LSD radix sort, one pass per digit (Onesweep, Adinets and Merrill 2022)"},
    {"cuda_hybrid", Space::device,
     "MSD radix sort of 64-bit keys (Stehle and Jacobsen 2017), else cuda_radix"},
    {"cuda_merge", Space::device, "merge sort by merge paths, stable (Green et al. 2012)"},
    {"cuda_counting", Space::device, "counting sort, histograms in shared memory"},
    {"cub", Space::device, "radix sort of CUB, the vendor's library, for reference"},
}};

/// Returns the rows of the table, each of which copies its items to the device, sorts and copies
/// them back. Empty in a build without CUDA.
[[nodiscard]] std::vector<Variant> cuda_rows();
[[nodiscard]] std::vector<Variant> compiled_rows();  // those of libtessera_cuda.so

/// Returns the functions that the rows launch, for `tessera list --occupancy`.
[[nodiscard]] std::vector<machine::DeviceFunction> device_functions();
[[nodiscard]] std::vector<machine::DeviceFunction> compiled_functions();
void add_radix_functions(std::vector<machine::DeviceFunction>& to);
void add_hybrid_functions(std::vector<machine::DeviceFunction>& to);
void add_merge_functions(std::vector<machine::DeviceFunction>& to);
void add_counting_functions(std::vector<machine::DeviceFunction>& to);
void add_pairs_functions(std::vector<machine::DeviceFunction>& to);
void add_cub_functions(std::vector<machine::DeviceFunction>& to);

}  // namespace tessera::inline v1::sort
