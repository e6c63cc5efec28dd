// Reduction of C along a split k: sums partial blocks at their home in the fixed order of the
// summation tree. One message per node and home; every partial element is sent at most once.

#include <algorithm>
#include <optional>

#include "dist/matmul/product_parts.hpp"
#include "kernels/matmul/cache_oblivious.hpp"

namespace tessera::inline v1::dist::matmul {
namespace {

using layout::Box;
using layout::Range;

constexpr int tag = 202;

/// A node's value over a part of this rank's home box of c, received or computed here.
template <class T>
struct PartialBlock {
  Box box;
  Subtree node;
  machine::Buffer<T> storage;
  MatrixView<const T> view;
};

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

/// One region of c that all its pieces cover entirely. Accumulates their sum along the tree in c,
/// and the right half of a node, unless it is a piece, in a temporary matrix.
template <class T>
class Region {
 public:
  Region(const std::vector<PartialBlock<T>>& pieces, const Box& box) : pieces_(pieces), box_(box) {}

  void sum(Subtree node, MatrixView<T> into) const {
    if (const auto piece = of(node)) {
      mpi::copy_block<T>(*piece, into);
      return;
    }
    sum(left(node), into);
    if (const auto piece = of(right(node))) {
      tessera::matmul::add<T>(*piece, into);
      return;
    }
    machine::Buffer<T> storage(into.rows * into.cols);
    const auto half = matrix_view(storage.data(), into.rows, into.cols);
    sum(right(node), half);
    tessera::matmul::add<T>(MatrixView<const T>(half), into);
  }

 private:
  [[nodiscard]] std::optional<MatrixView<const T>> of(Subtree node) const {
    const auto at = std::find_if(pieces_.begin(), pieces_.end(), [&](const PartialBlock<T>& piece) {
      return piece.node == node && intersect(piece.box, box_) == box_;
    });
    if (at == pieces_.end()) return std::nullopt;
    return part(at->view, at->box, box_);
  }

  const std::vector<PartialBlock<T>>& pieces_;
  Box box_;
};

/// Returns the pieces that intersect this rank's home box, in the order of ranks and nodes.
template <class T>
std::vector<PartialBlock<T>> receive_pieces(const mpi::Communicator& comm, const Plan& plan,
                                            const Box& home, const std::vector<NodeValue<T>>& mine,
                                            std::vector<mpi::Request>& requests) {
  std::vector<PartialBlock<T>> pieces;
  for (int rank = 0; rank < comm.size(); ++rank) {
    const Cuboid& cuboid = plan.of(rank);
    const Box box = intersect(of_cuboid(cuboid), home);
    if (cuboid.empty() || box.empty()) continue;
    const auto nodes = plan.nodes(cuboid);
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      PartialBlock<T> piece{box, nodes[n], {}, {}};
      if (rank == comm.rank()) {
        piece.view = part(MatrixView<const T>(mine[n].view), of_cuboid(cuboid), box);
      } else {
        piece.storage = machine::Buffer<T>(box.area());
        piece.view = matrix_view<const T>(piece.storage.data(), box.rows.size(), box.cols.size());
        requests.push_back(comm.receive(std::as_writable_bytes(piece.storage.span()), rank, tag));
      }
      pieces.push_back(std::move(piece));
    }
  }
  return pieces;
}

template <class T>
std::vector<machine::Buffer<T>> send_pieces(const mpi::Communicator& comm, const Plan& plan,
                                            const layout::MatrixLayout& homes,
                                            const std::vector<NodeValue<T>>& mine,
                                            std::vector<mpi::Request>& requests) {
  std::vector<machine::Buffer<T>> packed;
  const Box whole = of_cuboid(plan.of(comm.rank()));
  for (int rank = 0; rank < comm.size(); ++rank) {
    const Box box = intersect(whole, homes.of(rank));
    if (rank == comm.rank() || box.empty()) continue;
    for (const NodeValue<T>& value : mine) {
      machine::Buffer<T>& buffer = packed.emplace_back(box.area());
      mpi::copy_block<T>(part(MatrixView<const T>(value.view), whole, box),
                         matrix_view(buffer.data(), box.rows.size(), box.cols.size()));
      requests.push_back(comm.send(std::as_bytes(buffer.span()), rank, tag));
    }
  }
  return packed;
}

}  // namespace

template <class T>
void combine_nodes(const mpi::Communicator& comm, const Plan& plan,
                   const std::vector<NodeValue<T>>& mine, DistributedMatrix<T>& c,
                   mpi::Phases& phases) {
  std::vector<mpi::Request> requests;
  const Box& home = c.box();
  const auto pieces = receive_pieces(comm, plan, home, mine, requests);
  {
    const mpi::InFlight flight(phases, comm.size());
    const auto packed = send_pieces(comm, plan, c.layout(), mine, requests);
    mpi::wait_all(requests);
  }
  if (home.empty()) return;
  const auto rows = cuts(pieces, home.rows, [](const Box& box) { return box.rows; });
  const auto cols = cuts(pieces, home.cols, [](const Box& box) { return box.cols; });
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
    for (std::size_t j = 0; j + 1 < cols.size(); ++j) {
      const Box region{{rows[i], rows[i + 1]}, {cols[j], cols[j + 1]}};
      const bool made = std::any_of(
          pieces.begin(), pieces.end(),
          [&](const PartialBlock<T>& piece) { return intersect(piece.box, region) == region; });
      if (!made) continue;  // by another round
      Region<T>(pieces, region).sum(whole(plan.shape.leaves), part(c.view(), home, region));
    }
  }
}

#define TESSERA_INSTANTIATE(T)                                                            \
  template void combine_nodes<T>(const mpi::Communicator&, const Plan&,                   \
                                 const std::vector<NodeValue<T>>&, DistributedMatrix<T>&, \
                                 mpi::Phases&)

TESSERA_INSTANTIATE(float);
TESSERA_INSTANTIATE(double);
TESSERA_INSTANTIATE(Complex<float>);
TESSERA_INSTANTIATE(Complex<double>);
#undef TESSERA_INSTANTIATE

}  // namespace tessera::inline v1::dist::matmul
