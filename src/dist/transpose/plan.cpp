// Steps of the pairwise exchange, in pieces.

#include "dist/transpose/plan.hpp"

#include <algorithm>

namespace tessera::inline v1::dist::transpose {
namespace {

using layout::Box;

/// Appends the messages between this rank and one peer, pairing sends with receives.
void add_steps(std::vector<Step>& steps, index_t peer, const std::vector<Box>& out,
               const std::vector<Box>& in) {
  for (std::size_t k = 0; k < std::max(out.size(), in.size()); ++k) {
    Step step;
    if (k < out.size()) step.send = Message{peer, out[k]};
    if (k < in.size()) step.receive = Message{peer, in[k]};
    steps.push_back(step);
  }
}

std::vector<Box> turned(std::vector<Box> boxes) {
  for (Box& box : boxes) box = layout::transposed(box);
  return boxes;
}

}  // namespace

std::vector<Box> strips(const Box& box, index_t most) {
  std::vector<Box> result;
  if (box.empty()) return result;
  const index_t cols_at_once = std::clamp<index_t>(most, 1, box.cols.size());
  const index_t rows_at_once = std::max<index_t>(1, most / cols_at_once);
  for (index_t i = box.rows.begin; i < box.rows.end; i += rows_at_once) {
    for (index_t j = box.cols.begin; j < box.cols.end; j += cols_at_once) {
      result.push_back({{i, std::min(i + rows_at_once, box.rows.end)},
                        {j, std::min(j + cols_at_once, box.cols.end)}});
    }
  }
  return result;
}

std::vector<Step> pairwise_steps(const layout::MatrixLayout& source,
                                 const layout::MatrixLayout& target, index_t rank, index_t most,
                                 const std::function<bool(index_t)>& direct) {
  std::vector<Step> steps;
  for (index_t phase = 0; phase < source.ranks(); ++phase) {
    const index_t peer = partner(rank, phase, source.ranks());
    if (peer == rank || direct(peer)) continue;
    add_steps(steps, peer, strips(intersect(source.of(rank), target.of(peer)), most),
              strips(intersect(source.of(peer), target.of(rank)), most));
  }
  return steps;
}

std::vector<Step> swap_steps(const layout::MatrixLayout& layout, index_t rank, index_t most) {
  std::vector<Step> steps;
  for (index_t phase = 0; phase < layout.ranks(); ++phase) {
    const index_t peer = partner(rank, phase, layout.ranks());
    if (peer == rank) continue;
    // Both are cut along the rows of the lower rank, so that the pieces are mirror images of each
    // other.
    const index_t low = std::min(rank, peer), high = std::max(rank, peer);
    const auto in_low = strips({layout.of(low).rows, layout.of(high).rows}, most);
    const auto in_high = turned(in_low);
    if (rank == low) {
      add_steps(steps, peer, in_high, in_low);
    } else {
      add_steps(steps, peer, in_low, in_high);
    }
  }
  return steps;
}

}  // namespace tessera::inline v1::dist::transpose
