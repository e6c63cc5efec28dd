#pragma once
// Out-of-core product: a rank computes its tiles of C one after another from panels of A and B,
// with double buffering, without communication. Every tile of C is written once, while the next one
// is computed. A is read once per column of tiles, B once per row of tiles.

#include <algorithm>
#include <functional>

#include "dist/matmul/multiply.hpp"

namespace tessera::inline v1::dist::matmul {

struct OutOfCoreRequest {
  ForecastRequest shape;
  std::vector<index_t> a_chunk = {}, b_chunk = {};  ///< as stored; empty if contiguous
  int threads = 1;
  /// Whether the kernel is cache_oblivious, with the same instruction set on all ranks: what it
  /// packs is known. Otherwise both panels count as packed.
  bool knows_packing = false;
  index_t other_bytes = 0;              ///< other bytes that a rank holds
  bool maps_a = false, maps_b = false;  ///< mapped from the file cache, not copied
  /// A GPU multiplies: every panel is sent to it, and C with each panel to it and back, so panels
  /// are as long as possible. Sums follow no summation tree.
  bool on_device = false;
  index_t cache_bytes = 0;  ///< limit for a rank's bytes plus the file cache for its long panels
};

/// Edges of the tiles of C and of the panels along k; the last ones may be smaller.
struct OutOfCorePlan {
  ForecastRequest shape;
  index_t m = 0, n = 0, k = 0;
  index_t rank_bytes = 0;  ///< of a rank at most
  index_t read_bytes = 0;  ///< of all ranks
  double seconds = 0;      ///< estimated, to compare plans
  bool maps_a = false, maps_b = false;
  bool one_leaf = false;  ///< all of k is summed in the order of panels

  [[nodiscard]] index_t tiles_m() const { return m == 0 ? 0 : ceil_div(shape.m, m); }
  [[nodiscard]] index_t tiles_n() const { return n == 0 ? 0 : ceil_div(shape.n, n); }
  [[nodiscard]] index_t tiles() const { return tiles_m() * tiles_n(); }
  /// Returns the leaves of k; every panel is within one.
  [[nodiscard]] Leaves leaves() const {
    return one_leaf ? Leaves(shape.k, std::max<index_t>(1, shape.k))
                    : tessera::matmul::leaves<double>(shape.k);
  }
  /// Returns tile `number` in boustrophedon order: row by row, every other row backwards, so that
  /// consecutive tiles share a panel of A or B, which the file cache may still hold.
  [[nodiscard]] layout::Box tile(index_t number) const;
};

/// Returns the plan with at most `bytes` bytes a rank and the least estimated time. Throws
/// Error(memory) if they suffice for none.
[[nodiscard]] OutOfCorePlan plan_out_of_core(const OutOfCoreRequest& request, index_t bytes);

/// Access to the files of an out-of-core product. Called by one thread at a time, except write().
template <class T>
class OutOfCoreFiles {
 public:
  virtual ~OutOfCoreFiles() = default;
  /// Hints that these boxes of both stored operands will be read one step later.
  virtual void will_read(const layout::Box& /*a*/, const layout::Box& /*b*/) {}
  /// Reads a box of the stored operand into `room` and returns it; for a mapped operand `room` is
  /// empty and the result is a view of the mapping.
  virtual MatrixView<const T> read_a(const layout::Box& box, MatrixView<T> room) = 0;
  virtual MatrixView<const T> read_b(const layout::Box& box, MatrixView<T> room) = 0;
  virtual void read_c(const layout::Box& box, MatrixView<T> to) = 0;  ///< if beta != 0
  virtual void write(const layout::Box& box, MatrixView<const T> c) = 0;

  /// Runs a step's calls of these functions concurrently with the caller. end() waits for them and
  /// rethrows their exception; call it once for every begin(), before the next one.
  virtual void begin(std::function<void()> step) = 0;
  virtual void end() = 0;
};

template <class T>
struct Factors {
  T alpha = T{1}, beta = T{0};
};

/// This rank's part of an out-of-core product.
template <class T>
struct OutOfCoreProduct {
  const OutOfCorePlan& plan;
  layout::Range share;  ///< tiles of C
  Factors<T> factors = {};
  const Method& method;
};

/// Computes the tiles of the share until `stops` returns true. Returns the number
/// of finished tiles. Adds waiting times to the phases "read" and "write", and to "compute". With
/// the kernel cache_oblivious the bits are those of multiply().
template <class T>
[[nodiscard]] index_t multiply_out_of_core(const OutOfCoreProduct<T>& product,
                                           OutOfCoreFiles<T>& files,
                                           const std::function<bool()>& stops, mpi::Phases& phases);

}  // namespace tessera::inline v1::dist::matmul
