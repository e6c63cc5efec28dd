#include <algorithm>

#include "dist/matmul/algorithms.hpp"
#include "dist/matmul/leaf_stack.hpp"

namespace tessera::dist::matmul {
namespace {

using layout::BlockMap;
using layout::MatrixLayout;
using tessera::matmul::Leaves;

/// What one redistribution costs a rank: words in and out, messages; and the bytes of buffers for pieces that
/// are not contiguous, while it lasts.
index_t add_move(Forecast& f, const MatrixLayout& home, const MatrixLayout& need, index_t rank,
                 index_t element) {
  index_t packed = 0;
  if (home == need) return packed;
  for (const layout::Piece& piece : incoming(home, need, rank)) {
    if (piece.peer == rank) continue;
    f.received_bytes += piece.box.area() * element;
    ++f.messages;
    if (piece.box.rows.size() > 1 && piece.box.cols.size() != need.of(rank).cols.size())
      packed += piece.box.area();
  }
  for (const layout::Piece& piece : outgoing(home, need, rank)) {
    if (piece.peer == rank) continue;
    f.sent_bytes += piece.box.area() * element;
    if (piece.box.rows.size() > 1 && piece.box.cols.size() != home.of(rank).cols.size())
      packed += piece.box.area();
  }
  return packed * element;
}

Leaves leaves_of(const ForecastRequest& q) {
  return q.element_bytes == 4 ? tessera::matmul::leaves<float>(q.k) : tessera::matmul::leaves<double>(q.k);
}

Homes homes_of(const ForecastRequest& q) {
  const auto stored = [&](index_t rows, index_t cols, Op op) {
    return op == Op::none ? layout::row_blocks(rows, cols, q.ranks) : layout::row_blocks(cols, rows, q.ranks);
  };
  return {stored(q.m, q.k, q.op_a), stored(q.k, q.n, q.op_b), layout::row_blocks(q.m, q.n, q.ranks),
          q.shared};
}

/// What the kernel packs and sums beside its operands; those other than cache_oblivious work in place.
index_t kernel_bytes(const ForecastRequest& q, const Method& method, index_t m, index_t n, index_t k,
                     index_t leaf_count) {
  if (method.kernel != nullptr && method.kernel->name != "cache_oblivious") return 0;
  const auto of = [&]<class T>(T) { return tessera::matmul::working_memory<T>(m, n, k, leaf_count); };
  if (q.flops_each > 2) return q.element_bytes == 8 ? of(Complex<float>{}) : of(Complex<double>{});
  return q.element_bytes == 4 ? of(float{}) : of(double{});
}

bool grows_in_c(const Plan& plan, const Homes& homes) {
  return grows_at_home(plan, homes.c) || (homes.shared && !splits_k(plan));
}

/// Operands and result; and the C before it, which whoever repeats a product with beta keeps.
index_t home_bytes(const ForecastRequest& q, const Homes& homes, index_t rank) {
  return (homes.a.of(rank).area() + homes.b.of(rank).area() + (q.reads_c ? 2 : 1) * homes.c.of(rank).area()) *
         q.element_bytes;
}

/// One round, and the most that a rank works in on the way: fetching, multiplying, and adding up parts of C
/// once the fetched operands are gone. What the kernel packs in stays from one product to the next.
Forecast round_rank(const ForecastRequest& q, const Method& method, const Plan& plan, const Homes& homes,
                    index_t rank) {
  const index_t element = q.element_bytes;
  const Cuboid& mine = plan.of(rank);
  const MatrixLayout a = a_layout(plan, q.op_a), b = b_layout(plan, q.op_b), c = c_layout(plan);
  const std::vector<Subtree> nodes = plan.nodes(mine);
  Forecast f;
  index_t kernel = 0;
  if (!mine.empty()) {
    const index_t m = mine.m.size(), n = mine.n.size(), k = plan.k_range(mine).size();
    f.flops = q.flops_each * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    for (const Subtree node : nodes) kernel = std::max(kernel, kernel_bytes(q, method, m, n, k, node.count));
  }
  index_t copies = 0, fetching = 0;
  const auto fetch = [&](const MatrixLayout& home, const MatrixLayout& need) {
    if (homes.shared) return;
    const index_t packed = add_move(f, home, need, rank, element);
    if (!(home == need)) copies += need.of(rank).area() * element;
    fetching = std::max(fetching, copies + packed);
  };
  fetch(homes.a, a);
  fetch(homes.b, b);
  index_t values = 0, combining = 0;
  if (!grows_in_c(plan, homes)) {
    const MatrixLayout start = c_start_layout(plan);
    if (q.reads_c) fetching = std::max(fetching, copies + add_move(f, homes.c, start, rank, element));
    const auto count = static_cast<index_t>(nodes.size());
    values = count * c.of(rank).area() * element;
    index_t in = 0, out = 0, made = 0;  // made: of what lives here
    for (index_t peer = 0; peer < q.ranks; ++peer) {
      made += intersect(homes.c.of(rank), start.of(peer)).area();
      if (peer == rank) continue;
      const index_t from = intersect(homes.c.of(rank), c.of(peer)).area();
      const auto theirs = static_cast<index_t>(plan.nodes(plan.of(peer)).size());
      in += from * theirs;
      f.messages += from > 0 ? theirs : 0;
      out += intersect(homes.c.of(peer), c.of(rank)).area() * count;
    }
    f.received_bytes += in * element;
    f.sent_bytes += out * element;
    combining = (in + std::max(out, 2 * made)) * element;
  }
  f.work_bytes = kernel + values + std::max(fetching, combining);
  return f;
}

Forecast recursive_rank(const ForecastRequest& q, const Method& method, const std::vector<Plan>& plans,
                        const Homes& homes, index_t rank) {
  Forecast all;
  all.home_bytes = home_bytes(q, homes, rank);
  for (const Plan& plan : plans) {
    const Forecast f = round_rank(q, method, plan, homes, rank);
    all.flops += f.flops;
    all.received_bytes += f.received_bytes;
    all.sent_bytes += f.sent_bytes;
    all.messages += f.messages;
    all.work_bytes = std::max(all.work_bytes, f.work_bytes);
  }
  return all;
}

/// Summa's homes of the operands.
struct GridLayouts {
  layout::ProcessGrid grid;
  BlockMap m, n, k_of_a, k_of_b;
  MatrixLayout a, b, c;
};

GridLayouts grid_layouts(const ForecastRequest& q, const Method& method, const Leaves& leaves) {
  const layout::ProcessGrid grid = grid_of(method, q.ranks, q.m, q.n);
  const BlockMap m(q.m, grid.rows), n(q.n, grid.cols), ka(q.k, grid.cols, leaves.chunk()),
      kb(q.k, grid.rows, leaves.chunk());
  const auto stored = [](const MatrixLayout& x, Op op) { return op == Op::none ? x : transposed(x); };
  return {grid,
          m,
          n,
          ka,
          kb,
          stored(grid_blocks(m, ka, grid), q.op_a),
          stored(grid_blocks(kb, n, grid), q.op_b),
          grid_blocks(m, n, grid)};
}

Forecast summa_rank(const ForecastRequest& q, const Method& method, const Homes& homes, const Leaves& leaves,
                    index_t rank) {
  const auto [grid, m, n, ka, kb, a, b, c] = grid_layouts(q, method, leaves);
  const index_t element = q.element_bytes;
  Forecast f;
  f.home_bytes = home_bytes(q, homes, rank);
  const index_t mine_m = m.size(grid.row(rank)), mine_n = n.size(grid.col(rank));
  f.flops =
      q.flops_each * static_cast<double>(mine_m) * static_cast<double>(mine_n) * static_cast<double>(q.k);
  const bool at_home = c == homes.c;
  index_t fetching = std::max(add_move(f, homes.a, a, rank, element), add_move(f, homes.b, b, rank, element));
  if (q.reads_c) fetching = std::max(fetching, add_move(f, homes.c, c, rank, element));
  const index_t leaving = add_move(f, c, homes.c, rank, element);
  const index_t panel = std::min(q.k, round_up(std::max<index_t>(method.panel, 1), leaves.chunk()));
  const auto panels =
      q.k == 0 ? index_t{0} : static_cast<index_t>(summa_panels(ka, kb, leaves, method.panel).size());
  f.received_bytes +=
      (mine_m * (q.k - ka.size(grid.col(rank))) + (q.k - kb.size(grid.row(rank))) * mine_n) * element;
  f.sent_bytes += (mine_m * ka.size(grid.col(rank)) * (grid.cols > 1 ? 1 : 0) +
                   kb.size(grid.row(rank)) * mine_n * (grid.rows > 1 ? 1 : 0)) *
                  element;
  f.messages += panels * ((grid.cols > 1 ? 1 : 0) + (grid.rows > 1 ? 1 : 0));
  const index_t waiting = most_waiting(leaves) * mine_m * mine_n * element;
  f.work_bytes = ((a == homes.a ? 0 : a.of(rank).area()) + (b == homes.b ? 0 : b.of(rank).area()) +
                  (at_home ? 0 : mine_m * mine_n) + panel * (mine_m + mine_n)) *
                     element +
                 kernel_bytes(q, method, mine_m, mine_n, panel, 1) + std::max(fetching, waiting + leaving);
  return f;
}

/// Weights are those of a job that runs: another number of ranks is forecast as if all were alike.
std::vector<Plan> plans_of(const ForecastRequest& q, const Method& method, const Leaves& leaves,
                           const Homes& homes) {
  const bool known = static_cast<index_t>(method.weights.size()) == q.ranks;
  return choose_plans({q.m, q.n, leaves}, q.op_a, q.op_b, homes,
                      known ? method.weights : std::vector<double>{}, method.flops_per_word, method.rounds);
}

/// One redistribution.
double move_seconds(const MatrixLayout& home, const MatrixLayout& need, index_t element,
                    const mpi::Network& network) {
  if (home == need) return 0;
  std::vector<mpi::Load> loads(static_cast<std::size_t>(home.ranks()));
  for (index_t rank = 0; rank < home.ranks(); ++rank) {
    mpi::Load& load = loads[static_cast<std::size_t>(rank)];
    for (const layout::Piece& piece : incoming(home, need, rank)) {
      if (piece.peer == rank) continue;
      ++load.received;
      load.received_bytes += piece.box.area() * element;
    }
    for (const layout::Piece& piece : outgoing(home, need, rank)) {
      if (piece.peer == rank) continue;
      ++load.sent;
      load.sent_bytes += piece.box.area() * element;
    }
  }
  return at_once(network, loads);
}

/// The parts of c, each node of the summation tree by itself, to their homes.
double combine_seconds(const ForecastRequest& q, const Plan& plan, const MatrixLayout& home,
                       const mpi::Network& network) {
  const MatrixLayout c = c_layout(plan);
  std::vector<mpi::Load> loads(static_cast<std::size_t>(q.ranks));
  for (index_t from = 0; from < q.ranks; ++from) {
    const auto nodes = static_cast<index_t>(plan.nodes(plan.of(from)).size());
    for (index_t to = 0; to < q.ranks; ++to) {
      const index_t bytes = intersect(home.of(to), c.of(from)).area() * q.element_bytes;
      if (bytes == 0 || from == to) continue;
      loads[static_cast<std::size_t>(from)].sent += nodes;
      loads[static_cast<std::size_t>(from)].sent_bytes += nodes * bytes;
      loads[static_cast<std::size_t>(to)].received += nodes;
      loads[static_cast<std::size_t>(to)].received_bytes += nodes * bytes;
    }
  }
  return at_once(network, loads);
}

double round_seconds(const ForecastRequest& q, const Plan& plan, const Homes& homes,
                     const mpi::Network& network) {
  double seconds = 0;
  if (!homes.shared)
    seconds += move_seconds(homes.a, a_layout(plan, q.op_a), q.element_bytes, network) +
               move_seconds(homes.b, b_layout(plan, q.op_b), q.element_bytes, network);
  if (grows_in_c(plan, homes)) return seconds;
  if (q.reads_c) seconds += move_seconds(homes.c, c_start_layout(plan), q.element_bytes, network);
  return seconds + combine_seconds(q, plan, homes.c, network);
}

double recursive_seconds(const ForecastRequest& q, const Method& method, const Leaves& leaves,
                         const Homes& homes, const mpi::Network& network) {
  double seconds = 0;
  for (const Plan& plan : plans_of(q, method, leaves, homes))
    seconds += round_seconds(q, plan, homes, network);
  return seconds;
}

/// One operand's panels along the lines of the grid. A chain of ranks is filled once, and again by as much as
/// its beginning moves on with the owners of k.
class PanelLines {
 public:
  PanelLines(const BlockMap& owners, index_t bytes_a_k, mpi::Line line)
      : owners_(owners), bytes_a_k_(bytes_a_k), line_(line), spared_(static_cast<std::size_t>(line.ranks)) {}

  /// Seconds of a rank in the next panel: the lines begin one after the other, as the ranks of the lines
  /// across have theirs.
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

  /// By how much the last rank of a line is behind the first.
  [[nodiscard]] double filling() const {
    return static_cast<double>(line_.ranks - 2 + last_ - std::max<index_t>(first_, 0)) * step_filling_;
  }

  /// What the links that all lines share between two neighbours take for all panels, but those that begin
  /// behind them.
  [[nodiscard]] double busiest() const { return all_ - *std::min_element(spared_.begin(), spared_.end()); }

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
  std::vector<double> spared_;  // by the rank that a panel begins on
};

/// The panels of a along the rows of the grid and of b along its columns, in turn.
double panel_seconds(const std::vector<layout::Range>& panels, PanelLines rows, PanelLines columns,
                     const mpi::Network& network) {
  double seconds = 0;
  for (const layout::Range k : panels) {
    if (k.empty()) continue;
    seconds += rows.go(k, columns, network);
    seconds += columns.go(k, rows, network);
  }
  return std::max({seconds, rows.busiest(), columns.busiest()}) + rows.filling() + columns.filling();
}

double summa_seconds(const ForecastRequest& q, const Method& method, const Leaves& leaves, const Homes& homes,
                     const mpi::Network& network) {
  const GridLayouts at = grid_layouts(q, method, leaves);
  const double seconds = move_seconds(homes.a, at.a, q.element_bytes, network) +
                         move_seconds(homes.b, at.b, q.element_bytes, network) +
                         move_seconds(at.c, homes.c, q.element_bytes, network) * (q.reads_c ? 2 : 1);
  const auto panels = summa_panels(at.k_of_a, at.k_of_b, leaves, method.panel);
  return seconds + panel_seconds(panels, {at.k_of_a, q.element_bytes * at.m.size(0), {at.grid.cols, 1}},
                                 {at.k_of_b, q.element_bytes * at.n.size(0), {at.grid.rows, at.grid.cols}},
                                 network);
}

}  // namespace

std::vector<Forecast> forecast(const ForecastRequest& request, const Method& method) {
  const Leaves leaves = leaves_of(request);
  const Homes homes = homes_of(request);
  const auto plans = method.algorithm == Algorithm::recursive ? plans_of(request, method, leaves, homes)
                                                              : std::vector<Plan>{};
  std::vector<Forecast> result;
  for (index_t rank = 0; rank < request.ranks; ++rank) {
    result.push_back(method.algorithm == Algorithm::recursive
                         ? recursive_rank(request, method, plans, homes, rank)
                         : summa_rank(request, method, homes, leaves, rank));
  }
  return result;
}

bool sharing_pays(const ForecastRequest& request, const Method& method) {
  constexpr index_t worthwhile = 8;  // an eighth of what a rank has at home
  if (method.algorithm != Algorithm::recursive || request.ranks == 1) return false;
  ForecastRequest apart = request;
  apart.shared = false;
  const auto all = forecast(apart, method);
  return std::any_of(all.begin(), all.end(), [](const Forecast& f) {
    return std::max(f.received_bytes, f.sent_bytes) > f.home_bytes / worthwhile;
  });
}

double exchange_seconds(const ForecastRequest& request, const Method& method, const mpi::Network& network) {
  const Leaves leaves = leaves_of(request);
  const Homes homes = homes_of(request);
  return method.algorithm == Algorithm::recursive ? recursive_seconds(request, method, leaves, homes, network)
                                                  : summa_seconds(request, method, leaves, homes, network);
}

}  // namespace tessera::dist::matmul
