#pragma once
// The engine shared by all host variants: the region of a step, one step for a block of rows, and
// the update of the boundary.

#include "kernels/stencil/rows.hpp"
#include "kernels/stencil/sweep.hpp"
#include "kernels/stencil/term_rows.hpp"
#include "machine/fork_join.hpp"
#include "machine/list.hpp"

namespace tessera::inline v1::stencil {

template <class T>
class Engine {
 public:
  /// Fills the boundary of level 0, and its constant part in level 1.
  Engine(const Sweep<T>& sweep, Loops loops, Stores stores, machine::Isa isa = machine::isa());
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  [[nodiscard]] const Sweep<T>& sweep() const { return sweep_; }
  /// Returns the region of step s (from level s to s + 1): the owned box and, beyond its exchanged
  /// sides, the points that later steps need.
  [[nodiscard]] Box3 region(index_t step) const { return valid(step + 1); }

  /// Computes level step + 1 on the box only. Precondition: no ghost layer repeats its points.
  void interior(index_t step, const Box3& box) const {
    const GridView<T>& in = sweep_.level[step % 2];
    const GridView<T>& out = sweep_.level[(step + 1) % 2];
    const Index3 size = box.size();
    if (size[0] <= 0 || size[1] <= 0 || size[2] <= 0) return;
    if (finish_ != nullptr) return with_terms(step, box);
    kernel_(taps_,
            {&in(box.low), &out(box.low), in.stride[1], in.stride[0], size[0], size[1], size[2]});
  }
  /// Computes the same and updates every ghost that repeats one of these points.
  void compute(index_t step, const Box3& box) const;

  /// Returns whether a ghost layer repeats any point of the box.
  [[nodiscard]] bool touches_boundary(const Box3& box) const;

 private:
  struct Image {
    index_t source, ghost;
  };
  void choose_terms(machine::Isa isa);
  void with_terms(index_t step, const Box3& box) const;
  void part_with_terms(index_t step, const Box3& part) const;
  [[nodiscard]] Box3 valid(index_t level) const;
  [[nodiscard]] Box3 with_ghosts() const;
  [[nodiscard]] index_t source(int d, index_t i) const;
  [[nodiscard]] const Side* fixed_side(int d, index_t i) const;
  [[nodiscard]] bool has_fixed_side() const;
  void make_images();
  void publish(const GridView<T>& u, index_t z, index_t y, index_t x0, index_t x1) const;
  void fix_row(index_t z, index_t y, index_t levels) const;
  void fill_boundary() const;

  Sweep<T> sweep_;
  machine::List<Arithmetic<T>> weights_;
  machine::List<index_t> offsets_;
  Taps<T> taps_;
  RowKernel<T> kernel_;
  TermKernel<T> finish_ = nullptr;  ///< for steps with terms
  Arithmetic<T> weight_sum_{};
  bool keeps_past_ = false;         ///< the kernel leaves the previous level to finish_
  machine::List<Image> images_[3];  ///< ghosts that repeat a point, by dimension
  Index3 plain_low_, plain_high_;   ///< points in [low, high) have no image
};

/// Calls body(piece) over the box in pieces, several per thread: cut along z; if that is too short,
/// along y, then x.
template <class Body>
void for_pieces(const Box3& box, int threads, const Body& body) {
  const Index3 size = box.size();
  if (size[0] <= 0 || size[1] <= 0 || size[2] <= 0) return;
  constexpr index_t shortest = 4096;  // points of x
  const index_t wanted = threads <= 1 ? 1 : 4 * static_cast<index_t>(threads);
  Index3 count;
  count[0] = std::min(size[0], wanted);
  count[1] = std::min(size[1], ceil_div(wanted, count[0]));
  count[2] = std::min(ceil_div(size[2], shortest), ceil_div(wanted, count[0] * count[1]));
  machine::parallel_for(0, count.volume(), 1, [&](index_t i, index_t) {
    const Index3 at{{i / (count[1] * count[2]), i / count[2] % count[1], i % count[2]}};
    Box3 piece;
    for (int d = 0; d < 3; ++d) {
      piece.low[d] = box.low[d] + size[d] * at[d] / count[d];
      piece.high[d] = box.low[d] + size[d] * (at[d] + 1) / count[d];
    }
    body(piece);
  });
}

}  // namespace tessera::inline v1::stencil
