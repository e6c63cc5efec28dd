// SUMMA (van de Geijn and Watts 1997): broadcasts panels of A along the rows and of B along the
// columns of a process grid, and multiplies each into the stationary C. A rank of a p x q grid
// receives about mk / p + kn / q elements of panels.

#include <algorithm>

#include "base/progress.hpp"
#include "dist/matmul/forecast_parts.hpp"
#include "dist/matmul/leaf_stack.hpp"
#include "kernels/matmul/cache_oblivious.hpp"

namespace tessera::inline v1::dist::matmul {
namespace {

using layout::BlockMap;
using layout::Box;
using layout::MatrixLayout;
using layout::ProcessGrid;
using layout::Range;
using tessera::matmul::Gemm;
using tessera::matmul::Leaves;

/// The distribution over the grid: m over its rows, n over its columns, k over columns for a and
/// over rows for b, cut at whole chunks so that every panel is one; a, b and c as stored.
struct GridLayouts {
  ProcessGrid grid;
  BlockMap m, n, k_of_a, k_of_b;
  MatrixLayout a, b, c;
};

GridLayouts layouts_of(const ProcessGrid& grid, const Shape& shape, Op op_a, Op op_b) {
  const index_t k = shape.k(), chunk = shape.leaves.chunk();
  const BlockMap m(shape.m, grid.rows), n(shape.n, grid.cols), k_of_a(k, grid.cols, chunk),
      k_of_b(k, grid.rows, chunk);
  const auto stored = [](const MatrixLayout& x, Op op) { return turns(op) ? transposed(x) : x; };
  return {grid,
          m,
          n,
          k_of_a,
          k_of_b,
          stored(grid_blocks(m, k_of_a, grid), op_a),
          stored(grid_blocks(k_of_b, n, grid), op_b),
          grid_blocks(m, n, grid)};
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

ProcessGrid grid_of(const Method& method, index_t ranks, index_t m, index_t n) {
  if (method.grid.rows == 0) return layout::nearest_square(ranks, m, n);
  require_argument(method.grid.size() == ranks, "grid",
                   "" + std::to_string(method.grid.rows) + "x" + std::to_string(method.grid.cols) +
                       " needs " + std::to_string(method.grid.size()) + " ranks: the run has " +
                       std::to_string(ranks));
  return method.grid;
}

template <class T, class S>
void summa(const mpi::Communicator& comm, const Product<T, S>& product, const Method& method,
           mpi::Phases& phases) {
  const ProcessGrid grid = grid_of(method, comm.size(), product.m(), product.n());
  const Leaves leaves = tessera::matmul::leaves<T>(product.k());
  const GridLayouts at =
      layouts_of(grid, {product.m(), product.n(), leaves}, product.op_a, product.op_b);
  const auto row = static_cast<int>(grid.row(comm.rank())),
             col = static_cast<int>(grid.col(comm.rank()));
  const index_t m = at.m.size(row), n = at.n.size(col);
  const auto panels = summa_panels(at.k_of_a, at.k_of_b, leaves, method.panel);
  const index_t widest = widest_of(panels);
  const bool at_home = at.c == product.c.layout();

  const mpi::GridLines& lines = comm.grid_lines(grid.rows, grid.cols);
  PanelSource<S> a{
      lines.row, at.k_of_a, product.op_a, Op::none, m, {}, machine::Buffer<S>(m * widest)};
  PanelSource<S> b{
      lines.col, at.k_of_b, product.op_b, Op::transpose, n, {}, machine::Buffer<S>(widest * n)};
  machine::Buffer<T> c_storage(at_home ? 0 : m * n);
  const MatrixView<T> c = at_home ? product.c.view() : matrix_view(c_storage.data(), m, n);
  {
    const mpi::PhaseScope scope(phases, "exchange");
    const mpi::InFlight flight(phases, comm.size());
    a.mine = fetch(comm, product.a, at.a);
    b.mine = fetch(comm, product.b, at.b);
    if (product.beta != T{0} && !at_home) {
      mpi::redistribute<T>(comm, product.c.layout(), product.c.view(), at.c, c);
    }
  }

  LeafStack<T> stack(leaves, c.rows * c.cols);
  stack.start(c);
  MatrixView<T> sum;
  index_t leaf = -1;
  Progress progress("panels", static_cast<double>(panels.size()));
  double done = 0;
  for (const Range k : panels) {
    progress.update(done++);
    const bool leaf_begins = leaf < 0 || leaves.begin(leaf + 1) == k.begin;
    if (leaf_begins) sum = stack.begin(++leaf);
    Gemm<T, S> gemm{product.alpha, {}, product.op_a, {}, product.op_b, T{1}, sum};
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
    mpi::redistribute<T>(comm, at.c, c, product.c.layout(), product.c.view());
  }
}

GridLayouts layouts_of(const ForecastRequest& q, const Method& method) {
  return layouts_of(grid_of(method, q.ranks, q.m, q.n), {q.m, q.n, leaves_of(q)}, q.op_a, q.op_b);
}

Forecast rank_forecast(const ForecastRequest& q, const Method& method, const ProductPlan& planned,
                       index_t rank) {
  const Leaves leaves = leaves_of(q);
  const Homes& homes = planned.homes;
  const auto [grid, m, n, ka, kb, a, b, c] = layouts_of(q, method);
  const index_t element = q.element_bytes;
  Forecast f;
  f.home_bytes = home_bytes(q, homes, rank);
  const index_t mine_m = m.size(grid.row(rank)), mine_n = n.size(grid.col(rank));
  f.flops = q.flops_each * static_cast<double>(mine_m) * static_cast<double>(mine_n) *
            static_cast<double>(q.k);
  const bool at_home = c == homes.c;
  index_t fetching =
      std::max(add_move(f, homes.a, a, rank, element), add_move(f, homes.b, b, rank, element));
  if (q.reads_c) fetching = std::max(fetching, add_move(f, homes.c, c, rank, element));
  const index_t leaving = add_move(f, c, homes.c, rank, element);
  const index_t panel = std::min(q.k, round_up(std::max<index_t>(method.panel, 1), leaves.chunk()));
  const auto panels = q.k == 0
                          ? index_t{0}
                          : static_cast<index_t>(summa_panels(ka, kb, leaves, method.panel).size());
  f.received_bytes +=
      (mine_m * (q.k - ka.size(grid.col(rank))) + (q.k - kb.size(grid.row(rank))) * mine_n) *
      element;
  f.sent_bytes += (mine_m * ka.size(grid.col(rank)) * (grid.cols > 1 ? 1 : 0) +
                   kb.size(grid.row(rank)) * mine_n * (grid.rows > 1 ? 1 : 0)) *
                  element;
  f.messages += panels * ((grid.cols > 1 ? 1 : 0) + (grid.rows > 1 ? 1 : 0));
  const index_t waiting = most_waiting(leaves) * mine_m * mine_n * element;
  f.work_bytes = ((a == homes.a ? 0 : a.of(rank).area()) + (b == homes.b ? 0 : b.of(rank).area()) +
                  (at_home ? 0 : mine_m * mine_n) + panel * (mine_m + mine_n)) *
                     element +
                 kernel_bytes(q, method, {mine_m, mine_n, panel, panel, mine_n}, 1) +
                 std::max(fetching, waiting + leaving);
  return f;
}

/// Cost model of one operand's panel broadcasts along the lines of the grid. The pipeline of a line
/// fills once, and again for each rank by which the root advances along k.
class PanelLines {
 public:
  PanelLines(const BlockMap& owners, index_t bytes_a_k, mpi::Line line)
      : owners_(owners),
        bytes_a_k_(bytes_a_k),
        line_(line),
        spared_(static_cast<std::size_t>(line.ranks)) {}

  /// Returns the seconds of a rank in the next panel. The lines start staggered, after the ranks of
  /// the crossing lines have their panels.
  double go(layout::Range k, const PanelLines& across, const mpi::Network& network) {
    if (line_.ranks <= 1) return 0;
    const auto bytes = static_cast<double>(bytes_a_k_ * k.size());
    line_.apart = 0;
    const double together = filled(bytes, network);
    last_ = owners_.owner(k.begin);
    if (first_ < 0) first_ = last_;
    all_ += together;
    spared_[static_cast<std::size_t>(last_)] += together;
    line_.apart = across.filling();
    step_filling_ = std::max(step_filling_, chain_filling(network, bytes, line_));
    return filled(bytes, network);
  }

  /// Returns by how many seconds the last rank of a line is behind the first.
  [[nodiscard]] double filling() const {
    return static_cast<double>(line_.ranks - 2 + last_ - std::max<index_t>(first_, 0)) *
           step_filling_;
  }

  /// Returns the seconds of all panels on the busiest link between two neighbours, which all lines
  /// share; panels that begin just behind a link do not cross it.
  [[nodiscard]] double busiest() const {
    return all_ - *std::min_element(spared_.begin(), spared_.end());
  }

 private:
  [[nodiscard]] double filled(double bytes, const mpi::Network& network) const {
    return broadcast(network, bytes, line_) -
           static_cast<double>(line_.ranks - 2) * chain_filling(network, bytes, line_);
  }

  const BlockMap& owners_;
  index_t bytes_a_k_;
  mpi::Line line_;
  index_t first_ = -1, last_ = 0;
  double step_filling_ = 0, all_ = 0;
  std::vector<double> spared_;  // by the rank that owns the panel
};

/// Returns the seconds of the panels of a along the rows of the grid and of b along its columns,
/// alternating.
double panel_seconds(const std::vector<layout::Range>& panels, PanelLines rows, PanelLines columns,
                     const mpi::Network& network) {
  double seconds = 0;
  for (const layout::Range k : panels) {
    if (k.empty()) continue;
    seconds += rows.go(k, columns, network);
    seconds += columns.go(k, rows, network);
  }
  return std::max({seconds, rows.busiest(), columns.busiest()}) + rows.filling() +
         columns.filling();
}

ExchangeTime exchange(const ForecastRequest& q, const Method& method, const ProductPlan& planned,
                      const mpi::Network& network) {
  const GridLayouts at = layouts_of(q, method);
  const Homes& homes = planned.homes;
  const double seconds =
      move_seconds(homes.a, at.a, q.element_bytes, network) +
      move_seconds(homes.b, at.b, q.element_bytes, network) +
      move_seconds(at.c, homes.c, q.element_bytes, network) * (q.reads_c ? 2 : 1);
  const auto panels = summa_panels(at.k_of_a, at.k_of_b, leaves_of(q), method.panel);
  const double broadcasts = panel_seconds(
      panels, {at.k_of_a, q.element_bytes * at.m.size(0), {at.grid.cols, 1}},
      {at.k_of_b, q.element_bytes * at.n.size(0), {at.grid.rows, at.grid.cols}}, network);
  return {.alone = seconds + broadcasts};
}

std::vector<Forecast> all_forecasts(const ForecastRequest& q, const Method& method,
                                    const ProductPlan& planned) {
  std::vector<Forecast> result;
  for (index_t rank = 0; rank < q.ranks; ++rank)
    result.push_back(rank_forecast(q, method, planned, rank));
  return result;
}

}  // namespace

constinit const AlgorithmInfo summa_info{
    .name = "summa",
    .algorithm = Algorithm::summa,
    .about = "panels broadcast in a 2D grid (SUMMA, van de Geijn and Watts 1997)",
    .uses = {.grid = true, .panel = true},
    .multiply = {summa<float, float>, summa<double, double>, summa<Complex<float>, Complex<float>>,
                 summa<Complex<double>, Complex<double>>, summa<float, Half>,
                 summa<float, BFloat16>},
    .forecast = all_forecasts,
    .exchange = exchange};

}  // namespace tessera::inline v1::dist::matmul
