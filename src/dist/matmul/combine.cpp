#include <algorithm>

#include "dist/matmul/algorithms.hpp"
#include "kernels/matmul/cache_oblivious.hpp"

namespace tessera::dist::matmul {
namespace {

using layout::Box;
using layout::Range;

constexpr int tag = 102;

/// A node's value over a part of this rank's home box of c, received or computed here.
template <class T>
struct Piece {
  Box box;
  Subtree node;
  machine::Buffer<T> storage;
  MatrixView<const T> view;
};

Box of_cuboid(const Cuboid& cuboid) { return {cuboid.m, cuboid.n}; }

template <class T>
MatrixView<T> part(MatrixView<T> view, const Box& whole, const Box& box) {
  return view.block(box.rows.begin - whole.rows.begin, box.cols.begin - whole.cols.begin, box.rows.size(),
                    box.cols.size());
}

/// The distinct ends of the pieces' boxes in one dimension: between neighbours the set of pieces does not
/// change.
template <class T, class Side>
std::vector<index_t> cuts(const std::vector<Piece<T>>& pieces, Range whole, const Side& side) {
  std::vector<index_t> at{whole.begin, whole.end};
  for (const Piece<T>& piece : pieces) {
    at.push_back(side(piece.box).begin);
    at.push_back(side(piece.box).end);
  }
  std::sort(at.begin(), at.end());
  at.erase(std::unique(at.begin(), at.end()), at.end());
  return at;
}

/// One region of c, all of it in the same pieces: their sum along the tree.
template <class T>
void combine_region(const Subtree root, const std::vector<Piece<T>>& pieces, const Box& region,
                    MatrixView<T> c) {
  const auto piece_of = [&](Subtree node) {
    return std::find_if(pieces.begin(), pieces.end(), [&](const Piece<T>& piece) {
      return piece.node == node && intersect(piece.box, region) == region;
    });
  };
  using Value = machine::Buffer<T>;
  const auto view_of = [&](Value& value) { return matrix_view(value.data(), c.rows, c.cols); };
  const auto take = [&](Subtree node) {
    const Piece<T>& piece = *piece_of(node);
    Value value(c.rows * c.cols);
    mpi::copy_block<T>(part(piece.view, piece.box, region), view_of(value));
    return value;
  };
  const auto add = [&](Value sum, Value value) {
    tessera::matmul::add<T>(view_of(value), view_of(sum));
    return sum;
  };
  Value sum = combine(
      root, [&](Subtree node) { return piece_of(node) != pieces.end(); }, take, add);
  mpi::copy_block<T>(view_of(sum), c);
}

/// The pieces that reach this rank's home box, in the order of ranks and nodes.
template <class T>
std::vector<Piece<T>> receive_pieces(const mpi::Communicator& comm, const Plan& plan, const Box& home,
                                     const std::vector<NodeValue<T>>& mine,
                                     std::vector<mpi::Request>& requests) {
  std::vector<Piece<T>> pieces;
  for (int rank = 0; rank < comm.size(); ++rank) {
    const Cuboid& cuboid = plan.of(rank);
    const Box box = intersect(of_cuboid(cuboid), home);
    if (cuboid.empty() || box.empty()) continue;
    const auto nodes = plan.nodes(cuboid);
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      Piece<T> piece{box, nodes[n], {}, {}};
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
void combine_nodes(const mpi::Communicator& comm, const Plan& plan, const std::vector<NodeValue<T>>& mine,
                   DistributedMatrix<T>& c, mpi::Phases& phases) {
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
      const bool made = std::any_of(pieces.begin(), pieces.end(), [&](const Piece<T>& piece) {
        return intersect(piece.box, region) == region;
      });
      if (!made) continue;  // in another round
      combine_region(whole(plan.shape.leaves), pieces, region, part(c.view(), home, region));
    }
  }
}

#define TESSERA_INSTANTIATE(T)                                                                            \
  template void combine_nodes<T>(const mpi::Communicator&, const Plan&, const std::vector<NodeValue<T>>&, \
                                 DistributedMatrix<T>&, mpi::Phases&)

TESSERA_INSTANTIATE(float);
TESSERA_INSTANTIATE(double);
TESSERA_INSTANTIATE(Complex<float>);
TESSERA_INSTANTIATE(Complex<double>);

}  // namespace tessera::dist::matmul
