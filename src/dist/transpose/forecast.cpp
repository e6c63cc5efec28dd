// Forecast of a transpose's memory and traffic, and the time of its messages; arithmetic.

#include <algorithm>

#include "dist/transpose/blocks.hpp"
#include "kernels/transpose/in_place.hpp"
#include "mpi/shared_memory.hpp"

namespace tessera::inline v1::dist::transpose {
namespace {

using layout::MatrixLayout;

struct Homes {
  MatrixLayout a, source, b;
};

Homes homes_of(const ForecastRequest& q) {
  const MatrixLayout a = q.home(q.rows, q.cols);
  if (q.op == Op::none) return {a, a, a};
  return {a, layout::transposed(a), q.home(q.cols, q.rows)};
}

/// Adds the traffic of the steps and the bytes of their four buffers (double buffering in both
/// directions).
void add_steps(Forecast& f, const std::vector<Step>& steps, index_t element) {
  index_t most_out = 0, most_in = 0;
  for (const Step& step : steps) {
    if (step.send) {
      const index_t bytes = step.send->box.area() * element;
      f.sent_bytes += bytes;
      f.touched_bytes += 2 * bytes;
      most_out = std::max(most_out, bytes);
    }
    if (step.receive) {
      const index_t bytes = step.receive->box.area() * element;
      f.received_bytes += bytes;
      f.touched_bytes += 2 * bytes;
      most_in = std::max(most_in, bytes);
      ++f.messages;
    }
  }
  f.work_bytes += 2 * (most_out + most_in);
}

void add_alltoall(Forecast& f, const Homes& homes, const ForecastRequest& q, index_t rank) {
  const index_t element = q.element_bytes;
  const index_t mine = homes.a.of(rank).area() * element,
                result = homes.b.of(rank).area() * element;
  f.touched_bytes += 2 * mine;
  if (homes.source == homes.b) return;
  f.work_bytes += mine;  // row blocks are never contiguous in the transpose of others
  for (const layout::PeerBlock& piece : incoming(homes.source, homes.b, rank)) {
    const index_t bytes = piece.box.area() * element;
    f.touched_bytes += 2 * bytes;
    if (piece.peer == rank) continue;
    f.received_bytes += bytes;
    ++f.messages;
    if (piece.box.rows.size() > 1 && piece.box.cols.size() != homes.b.cols) f.work_bytes += bytes;
  }
  for (const layout::PeerBlock& piece : outgoing(homes.source, homes.b, rank)) {
    if (piece.peer != rank) f.sent_bytes += piece.box.area() * element;
  }
  if (q.scale.plain()) return;
  f.work_bytes += result;
  f.touched_bytes += 2 * result;
}

/// Returns whether a rank writes directly into the result of another.
bool direct(const ForecastRequest& q, const Method& method, index_t rank, index_t peer) {
  return method.algorithm == Algorithm::shared &&
         peer / q.ranks_per_node == rank / q.ranks_per_node;
}

std::vector<Step> steps_of(const ForecastRequest& q, const Method& method, const Homes& homes,
                           index_t rank) {
  return pairwise_steps(homes.source, homes.b, rank, method.piece_bytes / q.element_bytes,
                        [&](index_t peer) { return direct(q, method, rank, peer); });
}

/// Adds the cost of one rank: squares by swaps, rectangles by chunks, the largest in three passes.
void add_in_place(Forecast& f, const ForecastRequest& q, index_t mine, int threads) {
  const index_t shorter = std::min(q.rows, q.cols), longer = std::max(q.rows, q.cols);
  f.touched_bytes = (shorter == longer ? 2 : 6) * mine;
  f.work_bytes = 16 * longer * q.element_bytes * threads;
  if (shorter == longer || shorter == 0) return;
  const auto plan = tessera::transpose::chunk_plan(shorter, longer, q.element_bytes);
  if (!tessera::transpose::uses_chunks(plan, q.element_bytes, threads)) return;
  f.touched_bytes = (plan.rest > 0 ? 6 : 4) * mine;
  f.work_bytes = tessera::transpose::chunks_scratch_bytes(plan, q.element_bytes, threads);
}

Forecast forecast_rank(const ForecastRequest& q, const Method& method, const Homes& homes,
                       index_t rank) {
  const index_t element = q.element_bytes, most = method.piece_bytes / element;
  const index_t mine = homes.a.of(rank).area() * element,
                result = homes.b.of(rank).area() * element;
  Forecast f;
  f.home_bytes = q.in_place ? mine : mine + result;
  if (q.scale.alpha == 0) {
    f.touched_bytes = result * (q.scale.beta == 0 ? 1 : 2);
    return f;
  }
  if (q.in_place) {
    f.touched_bytes = 2 * homes.a.of(rank).rows.size() * homes.a.of(rank).rows.size() * element;
    if (q.ranks > 1) {
      add_steps(f, swap_steps(homes.a, rank, most), element);
    } else {
      add_in_place(f, q, mine, std::max(1, method.tuning.threads));
    }
    return f;
  }
  switch (method.algorithm) {
    case Algorithm::alltoall:
      add_alltoall(f, homes, q, rank);
      return f;
    case Algorithm::pairwise:
    case Algorithm::shared:
      break;
  }
  for (index_t peer = 0; peer < q.ranks; ++peer) {
    if (peer != rank && !direct(q, method, rank, peer)) continue;
    const layout::Box box = intersect(homes.source.of(rank), homes.b.of(peer));
    f.touched_bytes += 2 * box.area() * element;
    if (peer != rank)
      f.seen_bytes += layout::resident_bytes(box, homes.b.cols, element, mpi::SharedMemory::page);
  }
  add_steps(f, steps_of(q, method, homes, rank), element);
  return f;
}

/// Returns the seconds of the all-to-all exchange.
double alltoall_seconds(const Forecast& f, const Homes& homes, index_t rank,
                        const mpi::Network& network) {
  if (homes.source == homes.b) return 0;
  index_t sent = 0;
  for (const layout::PeerBlock& piece : outgoing(homes.source, homes.b, rank))
    sent += piece.peer == rank ? 0 : 1;
  return at_once(network, {sent, f.messages, f.sent_bytes, f.received_bytes});
}

/// Returns the seconds of consecutive steps: the piece of the next step is sent when that of this
/// step has arrived.
double steps_seconds(const std::vector<Step>& steps, index_t element, const mpi::Network& network) {
  double seconds = 0;
  for (const Step& step : steps) {
    const index_t sent = step.send ? step.send->box.area() * element : 0;
    const index_t received = step.receive ? step.receive->box.area() * element : 0;
    seconds += at_once(network, {step.send ? 1 : 0, step.receive ? 1 : 0, sent, received});
  }
  return seconds;
}

}  // namespace

std::vector<Forecast> forecast(const ForecastRequest& request, const Method& method) {
  const Homes homes = homes_of(request);
  std::vector<Forecast> result;
  for (index_t rank = 0; rank < request.ranks; ++rank)
    result.push_back(forecast_rank(request, method, homes, rank));
  return result;
}

double exchange_seconds(const ForecastRequest& q, const Method& method,
                        const mpi::Network& network) {
  if (q.scale.alpha == 0 || q.ranks == 1) return 0;
  const Homes homes = homes_of(q);
  const index_t most = method.piece_bytes / q.element_bytes;
  double slowest = 0;
  for (index_t rank = 0; rank < q.ranks; ++rank) {
    double seconds = 0;
    if (q.in_place) {
      seconds = steps_seconds(swap_steps(homes.a, rank, most), q.element_bytes, network);
    } else {
      switch (method.algorithm) {
        case Algorithm::alltoall:
          seconds = alltoall_seconds(forecast_rank(q, method, homes, rank), homes, rank, network);
          break;
        case Algorithm::pairwise:
        case Algorithm::shared:
          seconds = steps_seconds(steps_of(q, method, homes, rank), q.element_bytes, network);
          break;
      }
    }
    slowest = std::max(slowest, seconds);
  }
  return slowest;
}

}  // namespace tessera::inline v1::dist::transpose
