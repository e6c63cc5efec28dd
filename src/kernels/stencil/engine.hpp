#pragma once
// What all variants on the host share: where a step computes, one step for a block of rows, the boundary kept
// right.

#include <vector>

#include "kernels/stencil/rows.hpp"
#include "kernels/stencil/sweep.hpp"
#include "machine/fork_join.hpp"

namespace tessera::stencil {

/// The points [low, high) in local coordinates.
struct Box3 {
  Index3 low, high;
  [[nodiscard]] Index3 size() const { return {{high[0] - low[0], high[1] - low[1], high[2] - low[2]}}; }
};

template <class T>
class Engine {
 public:
  /// Fills the boundary of level 0, and what is constant of it in level 1.
  Engine(const Sweep<T>& sweep, Loops loops, Stores stores, machine::Isa isa = machine::isa());
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  [[nodiscard]] const Sweep<T>& sweep() const { return sweep_; }
  /// What step s (from level s to s + 1) computes: the owned box and, beyond its exchanged sides, what the
  /// later steps need.
  [[nodiscard]] Box3 region(index_t step) const { return valid(step + 1); }

  /// Level step + 1 on rows [y0, y1) x [x0, x1) of plane z, nothing else: for rows that no ghost layer
  /// repeats.
  void interior_rows(index_t step, index_t z, index_t y0, index_t y1, index_t x0, index_t x1) const {
    const GridView<T>& in = sweep_.level[step % 2];
    const GridView<T>& out = sweep_.level[(step + 1) % 2];
    kernel_(taps_, {&in(z, y0, x0), &out(z, y0, x0), in.stride[1], in.stride[0], y1 - y0, x1 - x0});
  }
  /// The same, and every ghost that repeats one of these points.
  void rows(index_t step, index_t z, index_t y0, index_t y1, index_t x0, index_t x1) const;
  /// The same for a box; rows at once, x whole.
  void box(index_t step, const Box3& box) const;

  /// Whether a ghost layer repeats any point of the box.
  [[nodiscard]] bool touches_boundary(const Box3& box) const;

 private:
  struct Image {
    index_t source, ghost;
  };
  [[nodiscard]] Box3 valid(index_t level) const;
  [[nodiscard]] Box3 with_ghosts() const;
  [[nodiscard]] index_t source(int d, index_t i) const;
  [[nodiscard]] const Side* fixed_side(int d, index_t i) const;
  void make_images();
  void publish(const GridView<T>& u, index_t z, index_t y, index_t x0, index_t x1) const;
  void fix_row(index_t z, index_t y, index_t levels) const;
  void fill_boundary() const;

  Sweep<T> sweep_;
  std::vector<T> weights_;
  std::vector<index_t> offsets_;
  Taps<T> taps_;
  RowKernel<T> kernel_;
  std::vector<Image> images_[3];   ///< ghosts that repeat a point, by dimension
  Index3 plain_low_, plain_high_;  ///< points in [low, high) have no image
};

/// body(z, y0, y1) over the rows of the box, a few pieces for each thread.
template <class Body>
void for_rows(const Box3& box, int threads, const Body& body) {
  const Index3 size = box.size();
  if (size.volume() <= 0) return;
  const index_t rows = size[0] * size[1];
  const index_t grain = threads <= 1 ? rows : ceil_div(rows, 4 * static_cast<index_t>(threads));
  machine::parallel_for(0, rows, grain, [&](index_t begin, index_t end) {
    while (begin < end) {
      const index_t y = begin % size[1];
      const index_t count = std::min(end - begin, size[1] - y);
      body(box.low[0] + begin / size[1], box.low[1] + y, box.low[1] + y + count);
      begin += count;
    }
  });
}

}  // namespace tessera::stencil
