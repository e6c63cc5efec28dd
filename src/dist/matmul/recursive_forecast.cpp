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

/// Returns whether no rank has to send any of an operand.
bool is_there(const MatrixLayout& home, const MatrixLayout& need, bool seen) {
  return seen || home == need;
}

/// An operand in one round.
struct OperandNeeds {
  std::vector<MatrixLayout> parts;  ///< received one after the other; empty if nothing is sent
  bool stays_before = false;        ///< from the round before
  bool stays_after = false;         ///< for the round after

  /// Returns the elements of the copies of all parts, or of the largest one.
  [[nodiscard]] index_t sum(index_t rank) const {
    index_t elements = 0;
    for (const MatrixLayout& part : parts) elements += part.of(rank).area();
    return elements;
  }
  [[nodiscard]] index_t most(index_t rank) const {
    index_t elements = 0;
    for (const MatrixLayout& part : parts) elements = std::max(elements, part.of(rank).area());
    return elements;
  }
};

}  // namespace

/// A round: what all ranks need.
struct RecursiveForecast::OneRound {
  const Plan& plan;
  Slices slices;
  OperandNeeds a, b;
  MatrixLayout c, start;
  bool grows = false;          // in c's home
  std::vector<index_t> nodes;  // by rank

  OneRound(const ForecastRequest& q, const Method& method, const ProductPlan& planned,
           std::size_t at);
  [[nodiscard]] bool whole() const { return slices.size() == 1; }
};

RecursiveForecast::OneRound::OneRound(const ForecastRequest& q, const Method& method,
                                      const ProductPlan& planned, std::size_t at)
    : plan(planned.plans[at]),
      slices(slices_of(method, plan, planned.homes.seen.all())),
      c(c_layout(plan)),
      start(c_start_layout(plan)),
      grows(grows_in_c(plan, planned.homes)) {
  const Homes& homes = planned.homes;
  for (const Cuboid& cuboid : plan.cuboids)
    nodes.push_back(static_cast<index_t>(plan.nodes(cuboid).size()));
  const auto describe = [&](Held operand, OperandNeeds& needs) {
    const bool is_a = operand == Held::a;
    const auto need = [&](const std::vector<layout::Range>& k) {
      return is_a ? a_layout(plan, q.op_a, k) : b_layout(plan, q.op_b, k);
    };
    const auto stays = [&](std::size_t other) {
      return whole() && other < planned.plans.size() && keeps(operand, plan, planned.plans[other]);
    };
    needs.stays_before = at > 0 && stays(at - 1);
    needs.stays_after = stays(at + 1);
    const MatrixLayout all = need(slices_of_k(plan, 1).front());
    if (is_there(is_a ? homes.a : homes.b, all, is_a ? homes.seen.a : homes.seen.b)) return;
    if (!whole()) {
      for (const auto& k : slices) needs.parts.push_back(need(k));
      return;
    }
    const index_t strips = needs.stays_after ? strips_of_kept : 1;
    for (index_t strip = 0; strip < strips; ++strip)
      needs.parts.push_back(strip_of(all, strip, strips));
  };
  describe(Held::a, a);
  describe(Held::b, b);
}

namespace {

/// Bytes of operands that are not at home.
struct FetchForecast {
  index_t peak = 0;    ///< while fetching a and then b: copies and packing buffers
  index_t before = 0;  ///< of copies that stay from the round before
  index_t after = 0;   ///< of copies that stay for the round after
};

/// Fetches a and then b. With slices, both copies and both packing buffers persist. Operands at
/// home are read in place.
FetchForecast fetching(Forecast& f, const ForecastRequest& q,
                       const RecursiveForecast::OneRound& round, const Homes& homes, index_t rank) {
  const auto packed = [&](const OperandNeeds& x, const MatrixLayout& home) {
    index_t most = 0;
    if (x.stays_before) return most;
    for (const MatrixLayout& part : x.parts)
      most = std::max(most, add_move(f, home, part, rank, q.element_bytes));
    return most;
  };
  const index_t a_packed = packed(round.a, homes.a), b_packed = packed(round.b, homes.b);
  if (!round.whole())
    return {.peak = 2 * (round.a.most(rank) + round.b.most(rank)) * q.element_bytes + a_packed +
                    b_packed};
  const index_t a = round.a.sum(rank) * q.element_bytes, b = round.b.sum(rank) * q.element_bytes;
  const auto both = [&](bool OperandNeeds::*stays) {
    return (round.a.*stays ? a : 0) + (round.b.*stays ? b : 0);
  };
  return {.peak = a + std::max((round.b.stays_before ? b : 0) + a_packed, b + b_packed),
          .before = both(&OperandNeeds::stays_before),
          .after = both(&OperandNeeds::stays_after)};
}

/// Returns the kernel's working memory for a plan's nodes, or for slices of leaves. Shared operands
/// have the leading dimension of the whole matrix.
index_t kernel_of(const ForecastRequest& q, const Method& method,
                  const RecursiveForecast::OneRound& round, const Homes& homes, index_t rank) {
  const Plan& plan = round.plan;
  const Cuboid& mine = plan.of(rank);
  if (mine.empty()) return 0;
  const index_t k = plan.k_range(mine).size();
  Local at{.m = mine.m.size(),
           .n = mine.n.size(),
           .k = k,
           .a_row = homes.seen.a ? q.k : k,
           .b_row = homes.seen.b ? q.n : mine.n.size()};
  index_t most = 0;
  if (round.whole()) {
    for (const Subtree node : plan.nodes(mine))
      most = std::max(most, kernel_bytes(q, method, at, node.count));
    return most;
  }
  const index_t leaf = ceil_div(k, mine.leaves.size()) + plan.shape.leaves.chunk();
  for (const auto& of_ranks : round.slices) {
    const index_t slice = of_ranks[static_cast<std::size_t>(rank)].size();
    at.k = std::min(leaf, slice);
    if (!round.a.parts.empty()) at.a_row = slice;
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
Forecast round_rank(const ForecastRequest& q, const Method& method,
                    const RecursiveForecast::OneRound& round, const Homes& homes, index_t rank) {
  const Plan& plan = round.plan;
  const index_t element = q.element_bytes;
  const Cuboid& mine = plan.of(rank);
  const auto at = static_cast<std::size_t>(rank);
  Forecast f;
  f.flops = q.flops_each * static_cast<double>(mine.m.size()) * static_cast<double>(mine.n.size()) *
            static_cast<double>(plan.k_range(mine).size());
  const FetchForecast operands = fetching(f, q, round, homes, rank);
  index_t fetched = operands.peak;
  const index_t waiting = round.whole() ? 0 : waiting_of(plan, round.slices, rank) * element;
  index_t values = waiting, combining = 0;
  if (!round.grows) {
    if (q.reads_c)
      fetched =
          std::max(fetched, operands.before + add_move(f, homes.c, round.start, rank, element));
    const index_t count = round.nodes[at], one = round.c.of(rank).area() * element;
    values = std::max(count * one, waiting + (count > 0 ? one : 0));
    index_t in = 0, out = 0, made = 0;  // made: computed elements of this rank's home
    const index_t own = intersect(homes.c.of(rank), round.c.of(rank)).area() * count;
    for (index_t peer = 0; peer < q.ranks; ++peer) {
      made += intersect(homes.c.of(rank), round.start.of(peer)).area();
      if (peer == rank) continue;
      const index_t from = intersect(homes.c.of(rank), round.c.of(peer)).area();
      const index_t theirs = round.nodes[static_cast<std::size_t>(peer)];
      in += from * theirs;
      f.messages += from > 0 ? theirs : 0;
      out += intersect(homes.c.of(peer), round.c.of(rank)).area() * count;
    }
    f.received_bytes += in * element;
    f.sent_bytes += out * element;
    const index_t layers = made > 0 ? ceil_div(in + own, made) : 1;
    combining = operands.after + (in + std::max(out, partial_sums(layers) * made)) * element;
  }
  f.work_bytes = kernel_of(q, method, round, homes, rank) + values + std::max(fetched, combining);
  return f;
}

/// Returns the seconds of sending the parts of c, each node of the summation tree separately, to
/// their homes.
double combine_seconds(const ForecastRequest& q, const RecursiveForecast::OneRound& round,
                       const MatrixLayout& home, const mpi::Network& network) {
  std::vector<mpi::Load> loads(static_cast<std::size_t>(q.ranks));
  for (index_t from = 0; from < q.ranks; ++from) {
    const index_t nodes = round.nodes[static_cast<std::size_t>(from)];
    for (index_t to = 0; to < q.ranks; ++to) {
      const index_t bytes = intersect(home.of(to), round.c.of(from)).area() * q.element_bytes;
      if (bytes == 0 || from == to) continue;
      loads[static_cast<std::size_t>(from)].sent += nodes;
      loads[static_cast<std::size_t>(from)].sent_bytes += nodes * bytes;
      loads[static_cast<std::size_t>(to)].received += nodes;
      loads[static_cast<std::size_t>(to)].received_bytes += nodes * bytes;
    }
  }
  return at_once(network, loads);
}

ExchangeTime round_time(const ForecastRequest& q, const RecursiveForecast::OneRound& round,
                        const Homes& homes, const mpi::Network& network) {
  ExchangeTime time;
  const auto fetch = [&](const OperandNeeds& x, const MatrixLayout& home) {
    if (x.stays_before) return;
    for (std::size_t part = 0; part < x.parts.size(); ++part)
      (round.whole() || part == 0 ? time.alone : time.overlapped) +=
          move_seconds(home, x.parts[part], q.element_bytes, network);
  };
  fetch(round.a, homes.a);
  fetch(round.b, homes.b);
  if (round.grows) return time;
  if (q.reads_c) time.alone += move_seconds(homes.c, round.start, q.element_bytes, network);
  time.alone += combine_seconds(q, round, homes.c, network);
  return time;
}

}  // namespace

RecursiveForecast::RecursiveForecast(const ForecastRequest& request, const Method& method,
                                     const ProductPlan& planned)
    : request_(request), method_(method), planned_(planned) {
  for (std::size_t at = 0; at < planned.plans.size(); ++at)
    rounds_.emplace_back(request, method, planned, at);
}
RecursiveForecast::~RecursiveForecast() = default;

Forecast RecursiveForecast::of(index_t rank) const {
  Forecast all;
  all.home_bytes = home_bytes(request_, planned_.homes, rank);
  all.seen_bytes = seen_bytes(request_, planned_.plans, planned_.homes, rank);
  for (const OneRound& round : rounds_) {
    const Forecast f = round_rank(request_, method_, round, planned_.homes, rank);
    all.flops += f.flops;
    all.received_bytes += f.received_bytes;
    all.sent_bytes += f.sent_bytes;
    all.messages += f.messages;
    all.work_bytes = std::max(all.work_bytes, f.work_bytes);
  }
  return all;
}

ExchangeTime RecursiveForecast::exchange(const mpi::Network& network) const {
  ExchangeTime all;
  for (const OneRound& one : rounds_) {
    const ExchangeTime round = round_time(request_, one, planned_.homes, network);
    all.alone += round.alone;
    all.overlapped += round.overlapped;
  }
  return all;
}

std::vector<Forecast> recursive_forecast(const ForecastRequest& q, const Method& method,
                                         const ProductPlan& planned) {
  const RecursiveForecast forecast(q, method, planned);
  std::vector<Forecast> result;
  for (index_t rank = 0; rank < q.ranks; ++rank) result.push_back(forecast.of(rank));
  return result;
}

ExchangeTime recursive_exchange(const ForecastRequest& q, const Method& method,
                                const ProductPlan& planned, const mpi::Network& network) {
  return RecursiveForecast(q, method, planned).exchange(network);
}

}  // namespace tessera::inline v1::dist::matmul
