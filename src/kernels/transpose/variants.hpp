#pragma once
// The variants of the transpose: b[j, i] = a[i, j] on opaque records.

#include "kernels/transpose/records.hpp"
#include "kernels/transpose/walks.hpp"
#include "kernels/variant.hpp"

struct CUstream_st;

namespace tessera::transpose {

using DeviceStream = CUstream_st*;  // cudaStream_t, for those that do not know CUDA

/// What a user may turn; each variant uses what concerns it. All sizes in elements, at least 1.
struct Tuning {
  index_t tile = 64;          ///< tiled: side of the square tiles; recursive: of the leaves
  Order order = Order::rows;  ///< tiled: walk over the tiles
  index_t column_width = 16;  ///< column: width of the strips of a
  int threads = 0;  ///< 0: machine::default_threads(); ignored inside a caller's parallel region
  index_t device_memory = 0;  ///< device: bytes that it may take there, through which larger ones
                              ///< go in pieces; 0: what is free
};

/// Either out_of_place or in_place is set.
/// out_of_place: b[0:n, 0:m] = transpose(a[0:m, 0:n]); equal record bytes; b does not overlap a; no
/// alignment needed. in_place: the contiguous m x n matrix at data becomes the contiguous n x m
/// matrix. on_device, where there is one: out_of_place for memory that the current device reaches,
/// on a stream (cuda.hpp says more).
struct Variant : VariantInfo {
  void (*out_of_place)(const ConstRecords& a, const Records& b, const Tuning& tuning) = nullptr;
  void (*in_place)(std::byte* data, index_t rows, index_t cols, index_t bytes,
                   const Tuning& tuning) = nullptr;
  void (*on_device)(const ConstRecords& a, const Records& b, const Tuning& tuning,
                    DeviceStream stream) = nullptr;
};

[[nodiscard]] std::span<const Variant> variants();

/// The fastest out-of-place variant for this shape and these strides: what `auto` means.
[[nodiscard]] const Variant& best(const ConstRecords& a, const Records& b);

/// The fastest one on a device; nullptr in a build without CUDA.
[[nodiscard]] const Variant* best_device();

void naive(const ConstRecords& a, const Records& b, const Tuning& tuning);
void tiled(const ConstRecords& a, const Records& b, const Tuning& tuning);
void column(const ConstRecords& a, const Records& b, const Tuning& tuning);
void recursive(const ConstRecords& a, const Records& b, const Tuning& tuning);
void cache_oblivious(const ConstRecords& a, const Records& b, const Tuning& tuning);
void in_place(std::byte* data, index_t rows, index_t cols, index_t bytes, const Tuning& tuning);

/// The threads that a tuning asks for.
[[nodiscard]] int threads_of(const Tuning& tuning);

}  // namespace tessera::transpose
