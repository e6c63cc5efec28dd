// Forecasts of the recursive product: memory and traffic of a rank, and the time of its messages.
// Arithmetic only.

#include <algorithm>
#include <bit>

#include "dist/matmul/forecast_parts.hpp"
#include "dist/matmul/leaf_stack.hpp"
#include "mpi/shared_memory.hpp"

namespace tessera::inline v1::dist::matmul {
namespace {

using layout::MatrixLayout;

/// Returns the peak bytes of fetching a and then b: their copies and the packing buffers of the
/// messages in flight. With slices, both copies and both packing buffers persist. Operands at home
/// are read in place.
index_t fetching(Forecast& f, const ForecastRequest& q, const Plan& plan, const Homes& homes,
                 const Slices& slices, index_t rank) {
  struct Most {
    index_t room = 0, packed = 0;
  } a, b;
  const auto move = [&](const MatrixLayout& home, const MatrixLayout& need, Most& most) {
    most.packed = std::max(most.packed, add_move(f, home, need, rank, q.element_bytes));
    most.room = std::max(most.room, need.of(rank).area() * q.element_bytes);
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
index_t kernel_of(const ForecastRequest& q, const Method& method, const Plan& plan,
                  const Homes& homes, const Slices& slices, index_t rank) {
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
  const Slices slices = slices_of(method, plan, homes.seen.all());
  Forecast f;
  f.flops = q.flops_each * static_cast<double>(mine.m.size()) * static_cast<double>(mine.n.size()) *
            static_cast<double>(plan.k_range(mine).size());
  index_t fetched = fetching(f, q, plan, homes, slices, rank);
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
  f.work_bytes =
      kernel_of(q, method, plan, homes, slices, rank) + values + std::max(fetched, combining);
  return f;
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

}  // namespace

Forecast recursive_forecast(const ForecastRequest& q, const Method& method,
                            const ProductPlan& planned, index_t rank) {
  Forecast all;
  all.home_bytes = home_bytes(q, planned.homes, rank);
  all.seen_bytes = seen_bytes(q, planned.plans, planned.homes, rank);
  for (const Plan& plan : planned.plans) {
    const Forecast f = round_rank(q, method, plan, planned.homes, rank);
    all.flops += f.flops;
    all.received_bytes += f.received_bytes;
    all.sent_bytes += f.sent_bytes;
    all.messages += f.messages;
    all.work_bytes = std::max(all.work_bytes, f.work_bytes);
  }
  return all;
}

ExchangeTime recursive_exchange(const ForecastRequest& q, const Method& method,
                                const ProductPlan& planned, const mpi::Network& network) {
  ExchangeTime all;
  for (const Plan& plan : planned.plans) {
    const ExchangeTime round = round_time(q, method, plan, planned.homes, network);
    all.alone += round.alone;
    all.overlapped += round.overlapped;
  }
  return all;
}

}  // namespace tessera::inline v1::dist::matmul
