#pragma once
// The sums of a warp's tile, distributed over its threads as mma.sync leaves them.

namespace tessera::inline v1::matmul {

/// Instructions of 16 x 8 cover the tile (warp_m, warp_n) of a warp, warp tiles the tile (m, n) of
/// one of the block's slices: thread 4 g + t holds columns 2 t and 2 t + 1 of rows g and g + 8 of
/// each instruction's sum.
template <class S, class T>
struct WarpSums : S {
  static constexpr int warps_m = S::m / S::warp_m,
                       slice_threads = 32 * warps_m * (S::n / S::warp_n),
                       threads = slice_threads * S::slices;
  static constexpr int tiles_m = S::warp_m / 16, tiles_n = S::warp_n / 8;

  int row, col;  // position of this thread's first element in the tile
  T sum[tiles_m][tiles_n][4] = {};

  __device__ WarpSums() {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    row = warp_row() + lane / 4;
    col = warp_col() + 2 * (lane % 4);
  }
  /// Returns the slice of k, of every stage, that this thread multiplies.
  __device__ static int slice() { return static_cast<int>(threadIdx.x) / slice_threads; }
  /// Return the first row and column of the warp's tile.
  __device__ static int warp_row() { return warp() % warps_m * S::warp_m; }
  __device__ static int warp_col() { return warp() / warps_m * S::warp_n; }

  /// Calls f(row, col, sum) for the sums of this thread.
  template <class F>
  __device__ __forceinline__ void each(const F& f) const {
#pragma unroll
    for (int i = 0; i < tiles_m; ++i) {
#pragma unroll
      for (int j = 0; j < tiles_n; ++j) {
#pragma unroll
        for (int e = 0; e < 4; ++e) f(row + 16 * i + e / 2 * 8, col + 8 * j + e % 2, sum[i][j][e]);
      }
    }
  }

 private:
  __device__ static int warp() { return static_cast<int>(threadIdx.x) % slice_threads / 32; }
};

}  // namespace tessera::inline v1::matmul
