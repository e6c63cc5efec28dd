// Time model of a product's messages: redistributions, SUMMA's pipelined broadcasts and the
// reduction of C. Arithmetic only.

#include <algorithm>

#include "dist/matmul/forecast_parts.hpp"

namespace tessera::dist::matmul {
namespace {

using layout::BlockMap;
using layout::MatrixLayout;

/// Returns the seconds of one redistribution.
double move_seconds(const MatrixLayout& home, const MatrixLayout& need, index_t element,
                    const mpi::Network& network) {
  if (home == need) return 0;
  std::vector<mpi::Load> loads(static_cast<std::size_t>(home.ranks()));
  for (index_t rank = 0; rank < home.ranks(); ++rank) {
    mpi::Load& load = loads[static_cast<std::size_t>(rank)];
    for (const layout::PeerBlock& piece : incoming(home, need, rank)) {
      if (piece.peer == rank) continue;
      ++load.received;
      load.received_bytes += piece.box.area() * element;
    }
    for (const layout::PeerBlock& piece : outgoing(home, need, rank)) {
      if (piece.peer == rank) continue;
      ++load.sent;
      load.sent_bytes += piece.box.area() * element;
    }
  }
  return at_once(network, loads);
}

/// Returns the seconds of sending the parts of c, each node of the summation tree separately, to
/// their homes.
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

ExchangeTime round_time(const ForecastRequest& q, const Method& method, const Plan& plan,
                        const Homes& homes, const mpi::Network& network) {
  ExchangeTime time;
  const bool a_moves = !homes.seen.a && !(homes.a == a_layout(plan, q.op_a));
  const bool b_moves = !homes.seen.b && !(homes.b == b_layout(plan, q.op_b));
  double* part = &time.alone;
  for (const auto& k : slices_of(method, plan, homes.seen.all())) {
    if (a_moves)
      *part += move_seconds(homes.a, a_layout(plan, q.op_a, k), q.element_bytes, network);
    if (b_moves)
      *part += move_seconds(homes.b, b_layout(plan, q.op_b, k), q.element_bytes, network);
    part = &time.overlapped;
  }
  if (grows_in_c(plan, homes)) return time;
  if (q.reads_c)
    time.alone += move_seconds(homes.c, c_start_layout(plan), q.element_bytes, network);
  time.alone += combine_seconds(q, plan, homes.c, network);
  return time;
}

ExchangeTime recursive_time(const ForecastRequest& q, const Method& method,
                            const ProductPlan& planned, const mpi::Network& network) {
  ExchangeTime all;
  for (const Plan& plan : planned.plans) {
    const ExchangeTime round = round_time(q, method, plan, planned.homes, network);
    all.alone += round.alone;
    all.overlapped += round.overlapped;
  }
  return all;
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

double summa_seconds(const ForecastRequest& q, const Method& method, const Leaves& leaves,
                     const Homes& homes, const mpi::Network& network) {
  const GridLayouts at = grid_layouts(q, method, leaves);
  const double seconds =
      move_seconds(homes.a, at.a, q.element_bytes, network) +
      move_seconds(homes.b, at.b, q.element_bytes, network) +
      move_seconds(at.c, homes.c, q.element_bytes, network) * (q.reads_c ? 2 : 1);
  const auto panels = summa_panels(at.k_of_a, at.k_of_b, leaves, method.panel);
  return seconds +
         panel_seconds(panels, {at.k_of_a, q.element_bytes * at.m.size(0), {at.grid.cols, 1}},
                       {at.k_of_b, q.element_bytes * at.n.size(0), {at.grid.rows, at.grid.cols}},
                       network);
}

}  // namespace

ExchangeTime exchange_time(const ForecastRequest& request, const Method& method,
                           const mpi::Network& network) {
  return exchange_time(request, method, network, plan_product(request, method));
}

ExchangeTime exchange_time(const ForecastRequest& request, const Method& method,
                           const mpi::Network& network, const ProductPlan& planned) {
  switch (method.algorithm) {
    case Algorithm::recursive:
      return recursive_time(request, method, planned, network);
    case Algorithm::summa:
      return {summa_seconds(request, method, leaves_of(request), planned.homes, network), 0};
  }
  return {};
}

index_t slices_that_pay(const ForecastRequest& request, const Method& method) {
  return slices_that_pay(request, method, plan_product(request, method));
}

index_t slices_that_pay(const ForecastRequest& request, const Method& method,
                        const ProductPlan& planned) {
  constexpr index_t slices = 8;  // an eighth of the messages precedes any arithmetic
  constexpr index_t enough =
      256 * 256;  // elements of C a thread: enough that threads do not split a slice along k
  constexpr double word_seconds = 8 / 5e9;  // the rate in core_flops_per_word
  if (method.algorithm != Algorithm::recursive || request.seen.all() || request.ranks == 1)
    return 1;
  const double threads = method.flops_per_word / core_flops_per_word;
  double flops = 0;
  for (const Plan& plan : planned.plans) {
    double most = 0;
    for (const Cuboid& c : plan.cuboids) {
      const auto elements = static_cast<double>(c.m.size() * c.n.size());
      if (!c.empty() && elements < threads * enough) return 1;
      most = std::max(most,
                      request.flops_each * elements * static_cast<double>(plan.k_range(c).size()));
    }
    flops += most;
  }
  const double arithmetic = flops / method.flops_per_word * word_seconds;
  const auto seconds = [&](index_t count) {
    Method sliced = method;
    sliced.slices = count;
    return arithmetic + exchange_time(request, sliced, {}, planned).beyond(arithmetic);
  };
  return seconds(slices) < seconds(1) ? slices : 1;
}

}  // namespace tessera::dist::matmul
