#pragma once
// Transposes without a second matrix.

#include "kernels/transpose/variants.hpp"
#include "machine/topology.hpp"

namespace tessera::transpose {

/// m[j, i] and m[i, j] change places; m.rows == m.cols. Scratch: one leaf block a task.
void in_place_square(const Records& m, const Tuning& tuning);

/// b = transpose(a) on the calling thread, b in the cache.
void transpose_block(const ConstRecords& a, const Records& b);

/// Bytes: of the shortest run of a row that is moved as one, and of the chunks that stay in a
/// second-level cache with their scratch and what is on its way (Emerald Rapids, 2 MiB, one core,
/// chunks of 1 MiB, 512, 256 and 128 KiB: 100 x 100000 of f64 10, 13, 13.5 and 12.6 GB/s,
/// back 10.9, 12, 12.5 and 14, of f32 10, 12.8, 12.6 and 11).
struct ChunkSizes {
  index_t run = 512, chunk = std::min(index_t{256} << 10, machine::caches().l2 / 4);
};

/// A matrix of m rows (or columns) as k chunks of b columns (rows), and what is left.
struct ChunkPlan {
  index_t m, k, b, rest;
};
/// For the shorter side m and the longer side n: chunks as large as allowed, without a rest where a
/// divisor of n allows it.
[[nodiscard]] ChunkPlan chunk_plan(index_t m, index_t n, index_t bytes,
                                   const ChunkSizes& sizes = {});

/// What in_place_chunks needs beside the matrix.
[[nodiscard]] index_t chunks_scratch_bytes(const ChunkPlan& plan, index_t bytes, int threads);
/// Whether that is little enough; larger rectangles take the three passes.
[[nodiscard]] bool goes_by_chunks(const ChunkPlan& plan, index_t bytes, int threads);

/// The contiguous rows x cols matrix at data becomes the contiguous cols x rows matrix. Every
/// element is moved twice, and once more where there is a rest. Scratch: a chunk a thread, and the
/// rest.
void in_place_chunks(std::byte* data, index_t rows, index_t cols, index_t bytes,
                     const Tuning& tuning, const ChunkSizes& sizes = {});

/// The same for any shape, element by element in three passes. Scratch: a row of the longer side
/// and a block of columns of the shorter side a thread.
void in_place_rectangle(std::byte* data, index_t rows, index_t cols, index_t bytes,
                        const Tuning& tuning);

}  // namespace tessera::transpose
