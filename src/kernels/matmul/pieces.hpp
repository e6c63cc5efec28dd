#pragma once
// Plans of out-of-core products on a device: tiling and the schedule of transfers and products, as
// a list of steps. Tiles are reused on the device as long as they fit. Pure arithmetic.

#include <algorithm>
#include <vector>

#include "kernels/matmul/gemm.hpp"
#include "kernels/matmul/variants.hpp"

namespace tessera::inline v1::matmul {

struct PiecesRequest {
  index_t m = 0, n = 0, k = 0;
  Op op_a = Op::none, op_b = Op::none;
  index_t element_bytes = 8;
  bool reads_c = false;       ///< beta != 0
  index_t rounded_bytes = 0;  ///< kernel workspace per element of the two tiles it multiplies
};

/// Returns the kernel workspace, in bytes per element of the tiles: reduced-precision kernels round
/// both.
[[nodiscard]] inline index_t rounded_bytes(const Tuning& tuning, index_t element_bytes) {
  if (element_bytes != 4) return 0;
  switch (tuning.precision) {
    case Precision::tf32:
      return 4;
    case Precision::fp8:
    case Precision::int8:
      return 1;
    case Precision::bf16:
    case Precision::f16:
      return 2;
    case Precision::full:
      break;
  }
  return 0;
}

/// Work memory of the complex kernels, at most, and of --device-memory `limit`, if it is given.
inline constexpr index_t complex_work_bytes = index_t{768} << 20;
[[nodiscard]] constexpr index_t complex_work_within(index_t limit) {
  return limit == 0 ? complex_work_bytes : std::min(complex_work_bytes, limit / 4);
}
/// Returns the bytes of `limit` that remain for tiles.
[[nodiscard]] constexpr index_t tiles_within(index_t limit, bool complex) {
  return complex ? limit - complex_work_within(limit) : limit;
}

/// Returns the request for a problem in host memory.
template <class T>
[[nodiscard]] PiecesRequest pieces_request(const Gemm<T>& g, const Tuning& tuning) {
  constexpr auto size = static_cast<index_t>(sizeof(T));
  return {g.m(), g.n(), g.k(), g.op_a, g.op_b, size, g.beta != T{0}, rounded_bytes(tuning, size)};
}

/// One step of a plan. Tiles are counted along m, n and k: A's is (i, p), B's (p, j), C's (i, j).
struct PieceStep {
  enum class Does { send_a, send_b, send_c, multiply } does;
  index_t i, j, p;
  index_t a = 0, b = 0, c = 0;  ///< places of the tiles concerned
};

struct Pieces {
  PiecesRequest request;
  index_t m = 0, n = 0, k = 0;              ///< edges of the tiles; the last ones may be smaller
  index_t places = 0, place_bytes = 0;      ///< for tiles of A and B
  index_t c_places = 0, c_place_bytes = 0;  ///< for tiles of C, taken in turn
  index_t rounded_bytes = 0;                ///< workspace of the kernels
  std::vector<PieceStep> steps;  ///< a tile is sent before it is multiplied, and its place is used
                                 ///< only by earlier steps when the next tile is sent there
  index_t sent_bytes = 0, brought_bytes = 0;  ///< over the link, in bytes

  [[nodiscard]] index_t tiles_m() const { return ceil_div(request.m, m); }
  [[nodiscard]] index_t tiles_n() const { return ceil_div(request.n, n); }
  [[nodiscard]] index_t tiles_k() const { return k == 0 ? 1 : ceil_div(request.k, k); }
  [[nodiscard]] index_t products() const { return tiles_m() * tiles_n() * tiles_k(); }
  [[nodiscard]] index_t device_bytes() const {
    return places * place_bytes + c_places * c_place_bytes + rounded_bytes;
  }
};

/// Returns a plan with one tile per matrix if they fit into `limit` bytes of the device; otherwise
/// the tiles and steps of the least estimated time at the rates of an H200. Tiles are multiplied in
/// ascending order along k; uncut k, which preserves the bits of a product that fits, is preferred.
/// Precondition: C is not empty. Throws Error(memory) if the limit is too small for any tiles.
[[nodiscard]] Pieces plan_pieces(const PiecesRequest& request, index_t limit);

}  // namespace tessera::inline v1::matmul
