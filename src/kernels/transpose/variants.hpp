#pragma once
// The variants of the transpose: b[j, i] = a[i, j] on opaque records.

#include "kernels/transpose/records.hpp"
#include "kernels/transpose/walks.hpp"
#include "kernels/variant.hpp"

struct CUstream_st;

namespace tessera::inline v1::transpose {

using DeviceStream = CUstream_st*;  // cudaStream_t, for files without CUDA headers

/// Tuning options; each variant uses those that concern it. All sizes in elements, at least 1.
struct Tuning {
  index_t tile = 64;          ///< tiled: side of the square tiles; recursive: of the leaves
  Order order = Order::rows;  ///< tiled: walk over the tiles
  index_t column_width = 16;  ///< column: width of the strips of a
  int threads = 0;  ///< 0: machine::default_threads(); ignored inside a caller's parallel region
  index_t device_memory = 0;  ///< device memory to use, in bytes, through which larger problems run
                              ///< out of core; 0: what is free
};

/// A row of the table. Either out_of_place or in_place is set. out_of_place: b[0:n, 0:m] =
/// transpose(a[0:m, 0:n]); equal record bytes; b does not overlap a; no alignment needed. in_place:
/// the contiguous m x n matrix at data becomes the contiguous n x m matrix. on_device, if set:
/// out_of_place for memory that the current device can access, on a stream (details in cuda.hpp).
struct Variant : VariantInfo {
  void (*out_of_place)(const ConstRecords& a, const Records& b, const Tuning& tuning) = nullptr;
  void (*in_place)(std::byte* data, index_t rows, index_t cols, index_t bytes,
                   const Tuning& tuning) = nullptr;
  void (*on_device)(const ConstRecords& a, const Records& b, const Tuning& tuning,
                    DeviceStream stream) = nullptr;
};

[[nodiscard]] std::span<const Variant> variants();

/// Returns the fastest out-of-place variant for this shape and these strides, which `auto` selects.
[[nodiscard]] const Variant& best(const ConstRecords& a, const Records& b);

/// Returns the fastest variant on a device; nullptr in a build without CUDA.
[[nodiscard]] const Variant* best_device();

void naive(const ConstRecords& a, const Records& b, const Tuning& tuning);
void tiled(const ConstRecords& a, const Records& b, const Tuning& tuning);
void column(const ConstRecords& a, const Records& b, const Tuning& tuning);
void recursive(const ConstRecords& a, const Records& b, const Tuning& tuning);
void cache_oblivious(const ConstRecords& a, const Records& b, const Tuning& tuning);
void in_place(std::byte* data, index_t rows, index_t cols, index_t bytes, const Tuning& tuning);

/// Returns the number of threads that a tuning requests.
[[nodiscard]] int threads_of(const Tuning& tuning);

}  // namespace tessera::inline v1::transpose
