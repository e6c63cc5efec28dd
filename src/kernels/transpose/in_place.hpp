#pragma once
// In-place transposition.

#include "kernels/transpose/variants.hpp"
#include "machine/topology.hpp"

namespace tessera::inline v1::transpose {

/// Swaps m[j, i] and m[i, j]; m.rows == m.cols. Scratch: one leaf block per task.
void in_place_square(const Records& m, const Tuning& tuning);

/// Computes b = transpose(a) on the calling thread, b in the cache.
void transpose_block(const ConstRecords& a, const Records& b);

/// The bytes of the shortest run of a row that is moved as one, and of the chunks, which stay in a
/// second-level cache with their scratch and prefetched lines (Emerald Rapids, 2 MiB, one core,
/// chunks of 1 MiB, 512, 256 and 128 KiB: 100 x 100000 of f64 10, 13, 13.5 and 12.6 GB/s, back
/// 10.9, 12, 12.5 and 14, of f32 10, 12.8, 12.6 and 11).
struct ChunkSizes {
  index_t run = 512, chunk = std::min(index_t{256} << 10, machine::caches().l2 / 4);
};

/// A matrix of m rows (or columns) as k chunks of b columns (rows) and a rest.
struct ChunkPlan {
  index_t m, k, b, rest;
};
/// Returns the plan for shorter side m and longer side n: chunks as large as permitted, without a
/// rest if a divisor of n permits it.
[[nodiscard]] ChunkPlan chunk_plan(index_t m, index_t n, index_t bytes,
                                   const ChunkSizes& sizes = {});

/// Returns the scratch memory of in_place_chunks, in bytes.
[[nodiscard]] index_t chunks_scratch_bytes(const ChunkPlan& plan, index_t bytes, int threads);
/// Returns whether that scratch is small enough; larger rectangles use the three passes.
[[nodiscard]] bool uses_chunks(const ChunkPlan& plan, index_t bytes, int threads);

/// Transposes the contiguous rows x cols matrix at data into the contiguous cols x rows matrix.
/// Every element moves twice, and once more if there is a rest. Scratch: one chunk per thread, and
/// the rest.
void in_place_chunks(std::byte* data, index_t rows, index_t cols, index_t bytes,
                     const Tuning& tuning, const ChunkSizes& sizes = {});

/// Transposes the same for any shape, element by element in three passes. Scratch: a row of the
/// longer side and a block of columns of the shorter side per thread.
void in_place_rectangle(std::byte* data, index_t rows, index_t cols, index_t bytes,
                        const Tuning& tuning);

}  // namespace tessera::inline v1::transpose
