// SUMMA (van de Geijn and Watts 1997): broadcasts panels of A along the rows and of B along the
// columns of a process grid, and multiplies each into the stationary C. A rank of a p x q grid
// receives about mk / p + kn / q elements of panels.

#include <algorithm>

#include "dist/matmul/algorithms.hpp"
#include "dist/matmul/leaf_stack.hpp"
#include "kernels/matmul/cache_oblivious.hpp"

namespace tessera::dist::matmul {
namespace {

using layout::BlockMap;
using layout::Box;
using layout::MatrixLayout;
using layout::ProcessGrid;
using layout::Range;
using tessera::matmul::Gemm;
using tessera::matmul::Leaves;

/// The operands' distribution over the grid: m over its rows, n over its columns, k over columns
/// for a and over rows for b, cut at whole chunks so that every panel is one.
struct Layouts {
  ProcessGrid grid;
  BlockMap m, n, k_of_a, k_of_b;
};

Layouts layouts_of(const ProcessGrid& grid, index_t m, index_t n, index_t k, index_t chunk) {
  return {grid, BlockMap(m, grid.rows), BlockMap(n, grid.cols), BlockMap(k, grid.cols, chunk),
          BlockMap(k, grid.rows, chunk)};
}

/// One operand on one line of the grid: the slices along k that its ranks own, and a buffer for a
/// panel.
template <class T>
struct PanelSource {
  mpi::Communicator line;
  BlockMap owners;  // of k, over the ranks of the line
  Op op;
  Op k_is_cols_when;
  index_t extent;  // of the other side: m or n of this rank
  Fetched<T> mine;
  machine::Buffer<T> storage;

  /// Returns the panel k, copied from its owner and broadcast along the line.
  MatrixView<const T> panel(Range k, mpi::Phases& phases) {
    const index_t owner = k.empty() ? 0 : owners.owner(k.begin);
    const bool k_is_cols = turns(op) == turns(k_is_cols_when);
    const auto view = k_is_cols ? matrix_view(storage.data(), extent, k.size())
                                : matrix_view(storage.data(), k.size(), extent);
    if (line.rank() == owner) {
      mpi::copy_block<T>(
          along_k(mine.view, op, k_is_cols_when, k.begin - owners.begin(owner), k.size()), view);
    }
    const mpi::InFlight flight(phases, line.size());
    line.broadcast(storage.span().first(static_cast<std::size_t>(view.rows * view.cols)),
                   static_cast<int>(owner));
    return view;
  }
};

index_t widest_of(const std::vector<Range>& panels) {
  index_t widest = 0;
  for (const Range panel : panels) widest = std::max(widest, panel.size());
  return widest;
}

}  // namespace

ProcessGrid grid_of(const Method& method, index_t ranks, index_t m, index_t n) {
  if (method.grid.rows == 0) return layout::nearest_square(ranks, m, n);
  require(method.grid.size() == ranks, ExitCode::usage,
          "the grid " + std::to_string(method.grid.rows) + "x" + std::to_string(method.grid.cols) +
              " needs " + std::to_string(method.grid.size()) + " ranks and there are " +
              std::to_string(ranks));
  return method.grid;
}

template <class T>
void summa(const mpi::Communicator& comm, const Product<T>& product, const Method& method,
           mpi::Phases& phases) {
  const ProcessGrid grid = grid_of(method, comm.size(), product.m(), product.n());
  const Leaves leaves = tessera::matmul::leaves<T>(product.k());
  const Layouts at = layouts_of(grid, product.m(), product.n(), product.k(), leaves.chunk());
  const auto row = static_cast<int>(grid.row(comm.rank())),
             col = static_cast<int>(grid.col(comm.rank()));
  const index_t m = at.m.size(row), n = at.n.size(col);
  const auto panels = summa_panels(at.k_of_a, at.k_of_b, leaves, method.panel);
  const index_t widest = widest_of(panels);
  const MatrixLayout c_home = grid_blocks(at.m, at.n, grid);
  const bool at_home = c_home == product.c.layout();

  const mpi::GridLines& lines = comm.grid_lines(grid.rows, grid.cols);
  PanelSource<T> a{
      lines.row, at.k_of_a, product.op_a, Op::none, m, {}, machine::Buffer<T>(m * widest)};
  PanelSource<T> b{
      lines.col, at.k_of_b, product.op_b, Op::transpose, n, {}, machine::Buffer<T>(widest * n)};
  machine::Buffer<T> c_storage(at_home ? 0 : m * n);
  const MatrixView<T> c = at_home ? product.c.view() : matrix_view(c_storage.data(), m, n);
  {
    const mpi::PhaseScope scope(phases, "exchange");
    const mpi::InFlight flight(phases, comm.size());
    a.mine =
        fetch(comm, product.a, stored_layout(grid_blocks(at.m, at.k_of_a, grid), product.op_a));
    b.mine =
        fetch(comm, product.b, stored_layout(grid_blocks(at.k_of_b, at.n, grid), product.op_b));
    if (product.beta != T{0} && !at_home) {
      mpi::redistribute<T>(comm, product.c.layout(), product.c.view(), c_home, c);
    }
  }

  LeafStack<T> stack(leaves, c.rows * c.cols);
  stack.start(c);
  MatrixView<T> sum;
  index_t leaf = -1;
  for (const Range k : panels) {
    const bool leaf_begins = leaf < 0 || leaves.begin(leaf + 1) == k.begin;
    if (leaf_begins) sum = stack.begin(++leaf);
    Gemm<T> gemm{product.alpha, {}, product.op_a, {}, product.op_b, T{1}, sum};
    if (leaf_begins) gemm.beta = leaf == 0 ? product.beta : T{0};
    {
      const mpi::PhaseScope scope(phases, "exchange");
      gemm.a = a.panel(k, phases);
      gemm.b = b.panel(k, phases);
    }
    const mpi::PhaseScope scope(phases, "compute");
    compute(gemm, method, phases, [&] { chain(gemm); });
    if (leaves.begin(leaf + 1) == k.end) stack.end();
  }
  if (!at_home) {
    const mpi::PhaseScope scope(phases, "exchange");
    const mpi::InFlight flight(phases, comm.size());
    mpi::redistribute<T>(comm, c_home, c, product.c.layout(), product.c.view());
  }
}

template void summa<float>(const mpi::Communicator&, const Product<float>&, const Method&,
                           mpi::Phases&);
template void summa<double>(const mpi::Communicator&, const Product<double>&, const Method&,
                            mpi::Phases&);
template void summa<Complex<float>>(const mpi::Communicator&, const Product<Complex<float>>&,
                                    const Method&, mpi::Phases&);
template void summa<Complex<double>>(const mpi::Communicator&, const Product<Complex<double>>&,
                                     const Method&, mpi::Phases&);

}  // namespace tessera::dist::matmul
