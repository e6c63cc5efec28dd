// Reduction of C along a split k: sums partial blocks at their home in the fixed order of the
// summation tree.

#include <algorithm>

#include "dist/matmul/combination.hpp"
#include "kernels/matmul/cache_oblivious.hpp"

namespace tessera::inline v1::dist::matmul {
namespace {

using layout::Box;
using layout::Range;

Box of_cuboid(const Cuboid& cuboid) { return {cuboid.m, cuboid.n}; }

template <class T>
MatrixView<T> part(MatrixView<T> view, const Box& whole, const Box& box) {
  return view.block(box.rows.begin - whole.rows.begin, box.cols.begin - whole.cols.begin,
                    box.rows.size(), box.cols.size());
}

/// Returns the distinct ends of the pieces' boxes in one dimension: between consecutive ends the
/// set of pieces is constant.
template <class T, class Side>
std::vector<index_t> cuts(const std::vector<PartialBlock<T>>& pieces, Range whole,
                          const Side& side) {
  std::vector<index_t> at{whole.begin, whole.end};
  for (const PartialBlock<T>& piece : pieces) {
    at.push_back(side(piece.box).begin);
    at.push_back(side(piece.box).end);
  }
  std::sort(at.begin(), at.end());
  at.erase(std::unique(at.begin(), at.end()), at.end());
  return at;
}

template <class Blocks>
index_t bytes_of_all(const Blocks& blocks) {
  index_t bytes = 0;
  for (const auto& block : blocks) bytes += static_cast<index_t>(block.data.size());
  return bytes;
}

}  // namespace

template <class T>
Combination<T>::Combination(const mpi::Communicator& comm, const Plan& plan,
                            const layout::MatrixLayout& homes,
                            const std::vector<NodeValue<T>>& mine)
    : ranks_(comm.size()), home_(homes.of(comm.rank())), root_(whole(plan.shape.leaves)) {
  plan_receives(comm, plan, mine);
  plan_sends(comm, plan, homes, mine);
  messages_ = mpi::RepeatedMessages(comm, out_, in_);
  if (!home_.empty()) plan_regions();
}

template <class T>
void Combination<T>::plan_receives(const mpi::Communicator& comm, const Plan& plan,
                                   const std::vector<NodeValue<T>>& mine) {
  for (int rank = 0; rank < comm.size(); ++rank) {
    const Cuboid& cuboid = plan.of(rank);
    const Box box = intersect(of_cuboid(cuboid), home_);
    if (cuboid.empty() || box.empty()) continue;
    const auto nodes = plan.nodes(cuboid);
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      PartialBlock<T> piece{box, nodes[n], {}, {}};
      if (rank == comm.rank()) {
        piece.view = part(MatrixView<const T>(mine[n].view), of_cuboid(cuboid), box);
      } else {
        piece.storage = machine::Buffer<T>(box.area());
        piece.view = matrix_view<const T>(piece.storage.data(), box.rows.size(), box.cols.size());
        in_.push_back({rank, std::as_writable_bytes(piece.storage.span())});
      }
      pieces_.push_back(std::move(piece));
    }
  }
}

template <class T>
void Combination<T>::plan_sends(const mpi::Communicator& comm, const Plan& plan,
                                const layout::MatrixLayout& homes,
                                const std::vector<NodeValue<T>>& mine) {
  const Box whole = of_cuboid(plan.of(comm.rank()));
  for (int rank = 0; rank < comm.size(); ++rank) {
    const Box box = intersect(whole, homes.of(rank));
    if (rank == comm.rank() || box.empty()) continue;
    for (const NodeValue<T>& value : mine) {
      packed_.push_back(
          {part(MatrixView<const T>(value.view), whole, box), machine::Buffer<T>(box.area())});
      out_.push_back({rank, std::as_bytes(packed_.back().storage.span())});
    }
  }
}

template <class T>
void Combination<T>::plan_regions() {
  const auto rows = cuts(pieces_, home_.rows, [](const Box& box) { return box.rows; });
  const auto cols = cuts(pieces_, home_.cols, [](const Box& box) { return box.cols; });
  std::vector<index_t> largest;  // by level
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
    for (std::size_t j = 0; j + 1 < cols.size(); ++j) {
      const Box region{{rows[i], rows[i + 1]}, {cols[j], cols[j + 1]}};
      const bool made = std::any_of(
          pieces_.begin(), pieces_.end(),
          [&](const PartialBlock<T>& piece) { return intersect(piece.box, region) == region; });
      if (!made) continue;  // by another round
      regions_.push_back(region);
      largest.resize(std::max(largest.size(), halves(root_, region)));
      for (std::size_t level = 0; level < halves(root_, region); ++level)
        largest[level] = std::max(largest[level], region.area());
    }
  }
  for (const index_t elements : largest) halves_.emplace_back(elements);
}

template <class T>
std::optional<MatrixView<const T>> Combination<T>::piece_of(Subtree node, const Box& region) const {
  const auto at = std::find_if(pieces_.begin(), pieces_.end(), [&](const PartialBlock<T>& piece) {
    return piece.node == node && intersect(piece.box, region) == region;
  });
  if (at == pieces_.end()) return std::nullopt;
  return part(at->view, at->box, region);
}

/// Returns the temporary matrices that sum() needs at the same time.
template <class T>
std::size_t Combination<T>::halves(Subtree node, const Box& region) const {
  if (piece_of(node, region)) return 0;
  const std::size_t of_left = halves(left(node), region);
  if (piece_of(right(node), region)) return of_left;
  return std::max(of_left, 1 + halves(right(node), region));
}

/// Accumulates the sum of a region along the tree in `into`, and the right half of a node, unless
/// it is a piece, in a temporary matrix.
template <class T>
void Combination<T>::sum(Subtree node, const Box& region, MatrixView<T> into, std::size_t level) {
  if (const auto piece = piece_of(node, region)) return mpi::copy_block<T>(*piece, into);
  sum(left(node), region, into, level);
  if (const auto piece = piece_of(right(node), region))
    return tessera::matmul::add<T>(*piece, into);
  const auto half = matrix_view(halves_[level].data(), into.rows, into.cols);
  sum(right(node), region, half, level + 1);
  tessera::matmul::add<T>(MatrixView<const T>(half), into);
}

template <class T>
void Combination<T>::execute(MatrixView<T> c, mpi::Phases& phases) {
  {
    const mpi::InFlight flight(phases, ranks_);
    messages_.start_receives();
    for (std::size_t k = 0; k < packed_.size(); ++k) {
      auto& [value, storage] = packed_[k];
      mpi::copy_block<T>(value, matrix_view(storage.data(), value.rows, value.cols));
      messages_.start_send(k);
    }
    while (!messages_.arrived().empty()) {
    }
    messages_.finish();
  }
  for (const Box& region : regions_) sum(root_, region, part(c, home_, region), 0);
}

template <class T>
index_t Combination<T>::sent_bytes() const {
  return bytes_of_all(out_);
}
template <class T>
index_t Combination<T>::received_bytes() const {
  return bytes_of_all(in_);
}
template <class T>
index_t Combination<T>::buffer_bytes() const {
  index_t elements = 0;
  for (const machine::Buffer<T>& half : halves_) elements += half.size();
  return sent_bytes() + received_bytes() + elements * static_cast<index_t>(sizeof(T));
}

template <class T>
void combine_nodes(const mpi::Communicator& comm, const Plan& plan,
                   const std::vector<NodeValue<T>>& mine, DistributedMatrix<T>& c,
                   mpi::Phases& phases) {
  Combination<T>(comm, plan, c.layout(), mine).execute(c.view(), phases);
}

#define TESSERA_INSTANTIATE(T)                                                            \
  template class Combination<T>;                                                          \
  template void combine_nodes<T>(const mpi::Communicator&, const Plan&,                   \
                                 const std::vector<NodeValue<T>>&, DistributedMatrix<T>&, \
                                 mpi::Phases&)

TESSERA_INSTANTIATE(float);
TESSERA_INSTANTIATE(double);
TESSERA_INSTANTIATE(Complex<float>);
TESSERA_INSTANTIATE(Complex<double>);
#undef TESSERA_INSTANTIATE

}  // namespace tessera::inline v1::dist::matmul
