// Forecast of a product's memory and traffic by rank. Arithmetic only.

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "dist/matmul/forecast_parts.hpp"
#include "dist/matmul/leaf_stack.hpp"
#include "mpi/shared_memory.hpp"

namespace tessera::dist::matmul {
namespace {

using layout::MatrixLayout;

/// Adds the cost of one redistribution to a rank's forecast: bytes in and out, messages. Returns
/// the bytes of the buffers of non-contiguous pieces during it.
index_t add_move(Forecast& f, const MatrixLayout& home, const MatrixLayout& need, index_t rank,
                 index_t element) {
  index_t packed = 0;
  if (home == need) return packed;
  for (const layout::PeerBlock& piece : incoming(home, need, rank)) {
    if (piece.peer == rank) continue;
    f.received_bytes += piece.box.area() * element;
    ++f.messages;
    if (piece.box.rows.size() > 1 && piece.box.cols.size() != need.of(rank).cols.size())
      packed += piece.box.area();
  }
  for (const layout::PeerBlock& piece : outgoing(home, need, rank)) {
    if (piece.peer == rank) continue;
    f.sent_bytes += piece.box.area() * element;
    if (piece.box.rows.size() > 1 && piece.box.cols.size() != home.of(rank).cols.size())
      packed += piece.box.area();
  }
  return packed * element;
}

/// A rank's local product and the leading dimensions of its operands, before transposition.
struct Local {
  index_t m, n, k, a_row, b_row;
};

/// Returns the bytes of the kernel's packing and summation buffers; kernels other than
/// cache_oblivious work in place.
index_t kernel_bytes(const ForecastRequest& q, const Method& method, const Local& at,
                     index_t leaf_count) {
  if (method.kernel != nullptr && method.kernel->name != "cache_oblivious") return 0;
  const auto of = [&]<class T>(T) {
    const auto stored = [](Op op, index_t rows, index_t cols, index_t row) {
      return turns(op) ? MatrixView<const T>{nullptr, cols, rows, rows}
                       : MatrixView<const T>{nullptr, rows, cols, row};
    };
    const tessera::matmul::Gemm<T> g{.a = stored(q.op_a, at.m, at.k, at.a_row),
                                     .op_a = q.op_a,
                                     .b = stored(q.op_b, at.k, at.n, at.b_row),
                                     .op_b = q.op_b,
                                     .c = MatrixView<T>{nullptr, at.m, at.n, at.n}};
    return tessera::matmul::working_memory<T>(g, leaf_count);
  };
  if (q.flops_each > 2) return q.element_bytes == 8 ? of(Complex<float>{}) : of(Complex<double>{});
  return q.element_bytes == 4 ? of(float{}) : of(double{});
}

/// Returns the bytes of operands and result, and of the saved initial C that a repeated product
/// with beta needs.
index_t home_bytes(const ForecastRequest& q, const Homes& homes, index_t rank) {
  return (homes.a.of(rank).area() + homes.b.of(rank).area() +
          (q.reads_c ? 2 : 1) * homes.c.of(rank).area()) *
         q.element_bytes;
}

/// A rank's part of one round.
struct RankRound {
  const Plan& plan;
  const Homes& homes;
  Slices slices;
  index_t rank;
};

/// Returns the peak bytes of fetching a and then b: their copies and the packing buffers of the
/// messages in flight. With slices, both copies and both packing buffers persist. Operands at home
/// are read in place.
index_t fetching(Forecast& f, const ForecastRequest& q, const RankRound& round) {
  const auto& [plan, homes, slices, rank] = round;
  struct Most {
    index_t room = 0, packed = 0;
  } a, b;
  const auto move = [&](const MatrixLayout& home, const MatrixLayout& need, Most& most) {
    most.packed = std::max(most.packed, add_move(f, home, need, round.rank, q.element_bytes));
    most.room = std::max(most.room, need.of(round.rank).area() * q.element_bytes);
  };
  const bool a_moves = !homes.seen.a && !(homes.a == a_layout(plan, q.op_a)),
             b_moves = !homes.seen.b && !(homes.b == b_layout(plan, q.op_b));
  for (const auto& k : slices) {
    if (a_moves) move(homes.a, a_layout(plan, q.op_a, k), a);
    if (b_moves) move(homes.b, b_layout(plan, q.op_b, k), b);
  }
  if (slices.size() > 1) return 2 * (a.room + b.room) + a.packed + b.packed;
  return a.room + std::max(a.packed, b.room + b.packed);
}

/// Returns the kernel's working memory for a plan's nodes, or for slices of leaves. Shared operands
/// have the leading dimension of the whole matrix.
index_t kernel_of(const ForecastRequest& q, const Method& method, const RankRound& round) {
  const auto& [plan, homes, slices, rank] = round;
  const Cuboid& mine = plan.of(rank);
  if (mine.empty()) return 0;
  const index_t k = plan.k_range(mine).size();
  Local at{.m = mine.m.size(),
           .n = mine.n.size(),
           .k = k,
           .a_row = homes.seen.a ? q.k : k,
           .b_row = homes.seen.b ? q.n : mine.n.size()};
  index_t most = 0;
  if (slices.size() == 1) {
    for (const Subtree node : plan.nodes(mine))
      most = std::max(most, kernel_bytes(q, method, at, node.count));
    return most;
  }
  const bool a_moves = !homes.seen.a && !(homes.a == a_layout(plan, q.op_a));
  const index_t leaf = ceil_div(k, mine.leaves.size()) + plan.shape.leaves.chunk();
  for (const auto& of_ranks : slices) {
    const index_t slice = of_ranks[static_cast<std::size_t>(rank)].size();
    at.k = std::min(leaf, slice);
    if (a_moves) at.a_row = slice;
    most = std::max(most, kernel_bytes(q, method, at, 1));
  }
  return most;
}

/// Returns the maximal number of pending leaf sums, except the first, over all slices.
index_t waiting_of(const Plan& plan, const Slices& slices, index_t rank) {
  const Cuboid& mine = plan.of(rank);
  std::vector<index_t> order;
  for (const auto& of_ranks : slices) {
    const layout::Range k = of_ranks[static_cast<std::size_t>(rank)];
    for (index_t leaf = mine.leaves.begin; leaf < mine.leaves.end; ++leaf) {
      const index_t begin = plan.shape.leaves.begin(leaf);
      if (k.begin <= begin && begin < k.end) order.push_back(leaf);
    }
  }
  return most_waiting(plan.shape.leaves, mine.leaves.begin, order) * mine.m.size() * mine.n.size();
}

/// Returns the number of right halves of the summation tree that are summed outside c at once,
/// given the number of values per element.
index_t partial_sums(index_t values) {
  return values < 2
             ? 0
             : static_cast<index_t>(std::bit_width(static_cast<std::uint64_t>(values - 1))) - 1;
}

/// Returns the bytes of other ranks' homes that a rank touches in shared memory, over all rounds.
index_t seen_bytes(const ForecastRequest& q, const std::vector<Plan>& plans, const Homes& homes,
                   index_t rank) {
  const auto of = [&](const MatrixLayout& home, index_t around, const auto& need) {
    index_t touched = 0;
    for (const Plan& plan : plans) {
      const layout::Box box = need(plan).of(rank);
      touched +=
          layout::resident_bytes(box, home.cols, q.element_bytes, around) -
          layout::resident_bytes(intersect(box, home.of(rank)), home.cols, q.element_bytes, around);
    }
    const index_t others = home.rows * home.cols - home.of(rank).area();
    return std::min(touched, others * q.element_bytes);
  };
  using mpi::SharedMemory;
  index_t bytes = 0;
  if (homes.seen.a)
    bytes +=
        of(homes.a, SharedMemory::fault_around, [&](const Plan& p) { return a_layout(p, q.op_a); });
  if (homes.seen.b)
    bytes +=
        of(homes.b, SharedMemory::fault_around, [&](const Plan& p) { return b_layout(p, q.op_b); });
  if (homes.seen.c)
    bytes += of(homes.c, SharedMemory::page, [](const Plan& p) { return c_layout(p); });
  return bytes;
}

/// Forecasts one round; the working memory is the peak of fetching, multiplying, and summing parts
/// of C after the fetched operands are freed. The kernel's packing buffers persist between
/// products.
Forecast round_rank(const ForecastRequest& q, const Method& method, const Plan& plan,
                    const Homes& homes, index_t rank) {
  const index_t element = q.element_bytes;
  const Cuboid& mine = plan.of(rank);
  const MatrixLayout c = c_layout(plan);
  const std::vector<Subtree> nodes = plan.nodes(mine);
  const RankRound round{plan, homes, slices_of(method, plan, homes.seen.all()), rank};
  const Slices& slices = round.slices;
  Forecast f;
  f.flops = q.flops_each * static_cast<double>(mine.m.size()) * static_cast<double>(mine.n.size()) *
            static_cast<double>(plan.k_range(mine).size());
  index_t fetched = fetching(f, q, round);
  const index_t waiting = slices.size() > 1 ? waiting_of(plan, slices, rank) * element : 0;
  index_t values = waiting, combining = 0;
  if (!grows_in_c(plan, homes)) {
    const MatrixLayout start = c_start_layout(plan);
    if (q.reads_c) fetched = std::max(fetched, add_move(f, homes.c, start, rank, element));
    const auto count = static_cast<index_t>(nodes.size());
    const index_t one = c.of(rank).area() * element;
    values = std::max(count * one, waiting + (count > 0 ? one : 0));
    index_t in = 0, out = 0, made = 0;  // made: computed elements of this rank's home
    const index_t own = intersect(homes.c.of(rank), c.of(rank)).area() * count;
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
    const index_t layers = made > 0 ? ceil_div(in + own, made) : 1;
    combining = (in + std::max(out, partial_sums(layers) * made)) * element;
  }
  f.work_bytes = kernel_of(q, method, round) + values + std::max(fetched, combining);
  return f;
}

Forecast recursive_rank(const ForecastRequest& q, const Method& method,
                        const std::vector<Plan>& plans, const Homes& homes, index_t rank) {
  Forecast all;
  all.home_bytes = home_bytes(q, homes, rank);
  all.seen_bytes = seen_bytes(q, plans, homes, rank);
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

Forecast summa_rank(const ForecastRequest& q, const Method& method, const Homes& homes,
                    const Leaves& leaves, index_t rank) {
  const auto [grid, m, n, ka, kb, a, b, c] = grid_layouts(q, method, leaves);
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

}  // namespace

std::vector<Forecast> forecast(const ForecastRequest& request, const Method& method) {
  return plan_product(request, method).forecasts;
}

std::vector<Forecast> forecast(const ForecastRequest& request, const Method& method,
                               const ProductPlan& planned) {
  const Leaves leaves = leaves_of(request);
  std::vector<Forecast> result;
  for (index_t rank = 0; rank < request.ranks; ++rank) {
    switch (method.algorithm) {
      case Algorithm::recursive:
        result.push_back(recursive_rank(request, method, planned.plans, planned.homes, rank));
        break;
      case Algorithm::summa:
        result.push_back(summa_rank(request, method, planned.homes, leaves, rank));
        break;
    }
  }
  return result;
}

ProductPlan plan_product(const ForecastRequest& request, const Method& method) {
  ProductPlan planned;
  switch (method.algorithm) {
    case Algorithm::recursive: {
      HomesAndPlans both = homes_and_plans(request, method);
      planned.homes = std::move(both.homes);
      planned.plans = std::move(both.plans);
      break;
    }
    case Algorithm::summa:
      planned.homes = homes_of(request, method);
      break;
  }
  planned.forecasts = forecast(request, method, planned);
  return planned;
}

namespace {

constexpr index_t worthwhile = 8;  // an eighth of a rank's home bytes

/// Returns whether messages are significant in every plan, without searching one: among equal ranks
/// a rank with its share of the products needs at least 3 (mnk/P)^(2/3) elements of the three
/// matrices (Loomis and Whitney 1949), and those not at home are sent or received.
bool moves_much_anyhow(const ForecastRequest& q, const Method& method, const Homes& homes) {
  if (!method.weights.empty()) return false;
  index_t most_home = 0, most_bytes = 0;
  for (index_t rank = 0; rank < q.ranks; ++rank) {
    most_home = std::max(
        most_home, homes.a.of(rank).area() + homes.b.of(rank).area() + homes.c.of(rank).area());
    most_bytes = std::max(most_bytes, home_bytes(q, homes, rank));
  }
  const double side = std::cbrt(static_cast<double>(q.m) * static_cast<double>(q.n) *
                                static_cast<double>(q.k) / static_cast<double>(q.ranks));
  const double moved = (3 * side * side - static_cast<double>(most_home)) / 2;  // elements
  return moved * static_cast<double>(q.element_bytes) >
         static_cast<double>(most_bytes / worthwhile + 1);
}

}  // namespace

Seen what_to_share(const ForecastRequest& request, const Method& method) {
  if (method.algorithm != Algorithm::recursive || request.ranks == 1) return {};
  ForecastRequest apart = request;
  apart.seen = {};
  apart.inside = false;
  if (moves_much_anyhow(apart, method, homes_of(apart, method))) return all_seen;
  const ProductPlan planned = plan_product(apart, method);
  const auto& all = planned.forecasts;
  const bool much = std::any_of(all.begin(), all.end(), [](const Forecast& f) {
    return std::max(f.received_bytes, f.sent_bytes) > f.home_bytes / worthwhile;
  });
  if (much) return all_seen;
  const Homes& homes = planned.homes;
  const auto needs_transfer = [&](const MatrixLayout& home, const MatrixLayout& need) {
    for (index_t rank = 0; rank < request.ranks; ++rank) {
      const index_t here = intersect(home.of(rank), need.of(rank)).area();
      if (need.of(rank).area() - here > 0 && need.of(rank).area() >= 2 * here) return true;
    }
    return false;
  };
  Seen seen;
  for (const Plan& plan : planned.plans) {
    seen.a = seen.a || needs_transfer(homes.a, a_layout(plan, apart.op_a));
    seen.b = seen.b || needs_transfer(homes.b, b_layout(plan, apart.op_b));
  }
  return seen;
}

}  // namespace tessera::dist::matmul
