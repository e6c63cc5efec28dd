#pragma once
// Products of matrices that ranks do not hold: a rank makes its tiles of C one after another from
// panels of A and B that it reads, the next ones while it multiplies, and needs no other rank.
// Every tile of C is written once, while the next one is made.

#include <algorithm>
#include <functional>

#include "dist/matmul/multiply.hpp"

namespace tessera::dist::matmul {

struct OutOfCoreRequest {
  ForecastRequest shape;
  std::vector<index_t> a_chunk = {}, b_chunk = {};  ///< as stored; empty where it is contiguous
  int threads = 1;
  index_t beside_bytes = 0;             ///< that a rank holds besides
  bool maps_a = false, maps_b = false;  ///< read where the file cache holds them, not copied
  /// A GPU multiplies: every panel goes there, and C with each there and back, so that panels are
  /// as long as they may be. Its bits follow no tree of sums.
  bool on_device = false;
  index_t cache_bytes =
      0;  ///< what a rank holds and the file cache for its long panels, together at most
};

/// Edges of the tiles of C and of the panels along k, those at the ends may be smaller.
struct OutOfCorePlan {
  ForecastRequest shape;
  index_t m = 0, n = 0, k = 0;
  index_t rank_bytes = 0;  ///< that a rank holds at most
  index_t read_bytes = 0;  ///< of all ranks
  double seconds = 0;      ///< by an estimate: to compare streams
  bool maps_a = false, maps_b = false;
  bool one_leaf = false;  ///< all of k is summed as it comes

  [[nodiscard]] index_t tiles_m() const { return m == 0 ? 0 : ceil_div(shape.m, m); }
  [[nodiscard]] index_t tiles_n() const { return n == 0 ? 0 : ceil_div(shape.n, n); }
  [[nodiscard]] index_t tiles() const { return tiles_m() * tiles_n(); }
  /// Every panel lies in one of them.
  [[nodiscard]] Leaves leaves() const {
    return one_leaf ? Leaves(shape.k, std::max<index_t>(1, shape.k))
                    : tessera::matmul::leaves<double>(shape.k);
  }
  /// Row by row of tiles, every other row backwards: neighbours in the order share a panel of A or
  /// B, which the file system may still hold.
  [[nodiscard]] layout::Box tile(index_t number) const;
};

/// The stream through at most so many bytes a rank that should take the least time. Throws
/// Error(memory) where they do not suffice for any.
[[nodiscard]] OutOfCorePlan plan_out_of_core(const OutOfCoreRequest& request, index_t bytes);

/// Where the matrices of a stream lie. Called by one thread at a time, but for write().
template <class T>
class OutOfCoreFiles {
 public:
  virtual ~OutOfCoreFiles() = default;
  /// Boxes of both stored operands that will be read a step later: a hint.
  virtual void will_read(const layout::Box& /*a*/, const layout::Box& /*b*/) {}
  /// A box of the stored operand, read into the room for it; where the stream maps the operand,
  /// there is no room, and the box is where it lies.
  virtual MatrixView<const T> read_a(const layout::Box& box, MatrixView<T> room) = 0;
  virtual MatrixView<const T> read_b(const layout::Box& box, MatrixView<T> room) = 0;
  virtual void read_c(const layout::Box& box, MatrixView<T> to) = 0;  ///< where beta != 0
  virtual void write(const layout::Box& box, MatrixView<const T> c) = 0;

  /// Makes a step's calls of these beside the caller. end() waits for them, and throws what one
  /// threw: once for every begin(), before the next.
  virtual void begin(std::function<void()> step) = 0;
  virtual void end() = 0;
};

template <class T>
struct Factors {
  T alpha = T{1}, beta = T{0};
};

/// The tiles [share.begin, share.end) of C, or as many as are done when `stops` says so: how many
/// those are. Adds to the phases "read" and "write" what was waited for, and "compute". With the
/// kernel cache_oblivious the bits are those of multiply().
template <class T>
[[nodiscard]] index_t multiply_out_of_core(const OutOfCorePlan& stream, layout::Range share,
                                           const Factors<T>& factors, const Method& method,
                                           OutOfCoreFiles<T>& files,
                                           const std::function<bool()>& stops, mpi::Phases& phases);

}  // namespace tessera::dist::matmul
