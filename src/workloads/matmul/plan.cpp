// Predicted time, traffic and memory of every rank, and the printed plan of a product.

#include <fmt/core.h>

#include <algorithm>

#include "base/lines.hpp"
#include "base/table.hpp"
#include "base/text.hpp"
#include "dist/matmul/words_bound.hpp"
#include "kernels/matmul/pieces.hpp"
#include "kernels/matmul/variants.hpp"
#include "machine/gpu.hpp"
#include "run/shares.hpp"
#include "workloads/matmul/problem.hpp"

namespace tessera::inline v1::workloads::matmul {
namespace {

using dist::matmul::Forecast;

/// Predicts the seconds of a rank: arithmetic at the measured peak, or at the rank's measured
/// speed, plus the messages that do not overlap with it. Returns -1 if the machine was not
/// measured.
double predicted_seconds(const Problem& problem, std::size_t rank, const run::Ceilings& ceilings,
                         index_t ranks_per_node, const dist::matmul::ExchangeTime& exchange) {
  const Forecast& f = problem.planned.forecasts[rank];
  const auto with_messages = [&](double arithmetic) {
    return arithmetic + exchange.beyond(arithmetic);
  };
  if (const auto& speeds = problem.method.weights; !speeds.empty())
    return with_messages(f.flops / speeds[rank]);
  const auto flops = ceilings.at(ceiling_of(problem), problem.method.threads * ranks_per_node);
  if (!flops) return -1;
  return with_messages(f.flops / (*flops * 1e9 / static_cast<double>(ranks_per_node)));
}

std::vector<std::string> plan_row(const std::string& rank, const Forecast& f, double seconds) {
  return {rank,
          human_number(f.flops / 1e9),
          human_bytes(f.received_bytes),
          human_bytes(f.sent_bytes),
          std::to_string(f.messages),
          human_bytes(f.home_bytes),
          human_bytes(f.work_bytes),
          seconds < 0 ? "unknown" : human_seconds(seconds)};
}

/// Prints how a rank's whole product is processed on its device, if in pieces.
void print_pieces(const Problem& problem) {
  const auto& q = problem.shape;
  const auto& tuning = problem.method.tuning;
  const index_t room = machine::gpu_memory_limit(tuning.device_memory);
  const tessera::matmul::PiecesRequest wanted{q.m,       q.n,
                                              q.k,       q.op_a,
                                              q.op_b,    q.element_bytes,
                                              q.reads_c, rounded_bytes(tuning, q.element_bytes)};
  if (room == 0 || q.m == 0 || q.n == 0) return;
  const tessera::matmul::Pieces pieces =
      plan_pieces(wanted, tessera::matmul::tiles_within(room, is_complex_element(problem.element)));
  if (pieces.products() == 1) return;
  print_filled(
      "streamed through {} of device memory in {} pieces of {} x {} x {}{}; {} to the device, {} "
      "back",
      human_bytes(pieces.device_bytes()), pieces.products(), pieces.m, pieces.n, pieces.k,
      pieces.tiles_k() > 1 ? " (k is split)" : "", human_bytes(pieces.sent_bytes),
      human_bytes(pieces.brought_bytes));
}

/// Prints how near the messages are to the lower bound for --memory.
void print_least(const Problem& problem, index_t received_bytes) {
  const auto& q = problem.shape;
  const index_t memory = problem.allowance.limit - problem.allowance.program;
  if (received_bytes == 0 || memory <= 0) return;
  const auto bytes = static_cast<double>(q.element_bytes);
  const double least = bytes * dist::matmul::least_words(
                                   {q.m, q.n, q.k, q.ranks, static_cast<double>(memory) / bytes});
  print_filled("the lower bound in {} of memory: {} on average; the plan receives {:.2f} of that",
               human_bytes(memory), human_bytes(static_cast<index_t>(least)),
               static_cast<double>(received_bytes) / least);
}

}  // namespace

std::string ceiling_of(const Problem& problem) {
  const bool single = problem.element == Element::f32 || problem.element == Element::c64;
  if (problem.method.kernel->space == Space::host) return single ? "fma_f32" : "fma_f64";
  return single ? "gpu_fma_f32" : "gpu_mma_f64";
}

std::vector<Forecast> forecasts_on(const Problem& problem, index_t ranks) {
  if (static_cast<index_t>(problem.planned.forecasts.size()) == ranks)
    return problem.planned.forecasts;
  auto shape = problem.shape;
  auto method = problem.method;
  shape.ranks = ranks;
  if (ranks != problem.shape.ranks) {
    method.grid = {0, 0};
    shape.seen = {};
  }
  return forecast(shape, method);
}

index_t most_memory(const Problem& problem, index_t ranks) {
  index_t most = 0;
  for (const Forecast& f : forecasts_on(problem, ranks)) most = std::max(most, f.resident());
  return most;
}

Need need_of(const Problem& problem, const run::Ceilings& ceilings, index_t ranks_per_node) {
  Need need{.memory = most_memory(problem, problem.shape.ranks)};
  const auto exchange = exchange_time(problem.shape, problem.method,
                                      run::network(ceilings, problem.shape.ranks), problem.planned);
  const auto& forecasts = problem.planned.forecasts;
  for (std::size_t r = 0; r < forecasts.size(); ++r)
    need.seconds =
        std::max(need.seconds, predicted_seconds(problem, r, ceilings, ranks_per_node, exchange));
  need.seconds *= static_cast<double>(problem.operands.products);
  return need;
}

Volumes volumes_of(const Problem& problem, const dist::matmul::OutOfCorePlan* stream) {
  const auto& q = problem.shape;
  const auto& operands = problem.operands;
  const auto products = static_cast<double>(operands.products);
  const auto bytes = [&](index_t rows, index_t cols) {
    return products * static_cast<double>(rows) * static_cast<double>(cols) *
           static_cast<double>(q.element_bytes);
  };
  const double a = bytes(q.m, q.k), b = bytes(q.k, q.n), c = bytes(q.m, q.n);
  Volumes v;
  const auto load = [&](const std::vector<io::DatasetName>& from, double size, bool in_chunks) {
    (from.empty() ? v.generated : v.read) += size;
    if (!from.empty() && in_chunks) v.decoded += size;
  };
  if (stream != nullptr) {
    const double again = static_cast<double>(stream->read_bytes) / std::max(1.0, a + b);
    load(operands.a, again * a, !problem.a_chunk.empty());
    load(operands.b, again * b, !problem.b_chunk.empty());
    v.touched = static_cast<double>(stream->rank_bytes * q.ranks);
  } else {
    load(operands.a, a, !problem.a_chunk.empty());
    load(operands.b, b, !problem.b_chunk.empty());
    for (const Forecast& f : forecasts_on(problem, q.ranks))
      v.touched += products * static_cast<double>(f.memory());
  }
  if (q.reads_c) load(operands.c, c, false);
  if (q.reads_c && stream == nullptr) v.restored = 2 * c;
  if (problem.verify) v.streamed = a + b + c;
  if (!problem.out.empty()) v.written = c;
  return v;
}

void print_plan(const Problem& problem, const run::Ceilings& ceilings, index_t ranks_per_node) {
  const auto& q = problem.shape;
  const auto& forecasts = problem.planned.forecasts;
  if (problem.operands.is_batch())
    print_filled("one of {} after the other:", counted(problem.operands.products, "product"));
  print_filled("plan: {} x {} x {} {} on {} x {}, algorithm {}, kernel {}", q.m, q.n, q.k,
               name(problem.element), counted(q.ranks, "rank"),
               counted(problem.method.threads, "thread"), problem.algorithm, problem.kernels);
  if (const auto& speeds = problem.method.weights; !speeds.empty()) {
    print_filled("shares by measured speed, GFLOP/s a rank: {}", run::text_of_weights(speeds, 1e9));
  }
  if (problem.gpus != nullptr)
    print_filled("operands and result stay on the GPUs; exchange: {}", problem.gpus->text());
  if (problem.method.rounds > 1)
    print_filled("in {} rounds, a part of {} and C each, to fit in memory; {} stays",
                 problem.method.rounds, problem.method.held == dist::matmul::Held::a ? "B" : "A",
                 problem.method.held == dist::matmul::Held::a ? "A" : "B");
  if (problem.method.slices > 1)
    print_filled(
        "k in about {} slices: operands of the next slice are prefetched during each product",
        problem.method.slices);
  if (q.seen.all())
    print_filled("the ranks share the memory of operands and result");
  else if (q.seen.any())
    print_filled("the ranks share the memory of {}", q.seen.a && q.seen.b ? "A and B"
                                                     : q.seen.a           ? "A"
                                                                          : "B");
  Table table({"rank", "GFLOP", "received", "sent", "messages", "home", "work space", "predicted"});
  const auto exchange =
      exchange_time(q, problem.method, run::network(ceilings, q.ranks), problem.planned);
  double slowest = 0;
  index_t words = 0, all_words = 0, most = 0;
  constexpr index_t most_rows = 32;
  for (std::size_t r = 0; r < forecasts.size(); ++r) {
    const Forecast& f = forecasts[r];
    const double seconds = predicted_seconds(problem, r, ceilings, ranks_per_node, exchange);
    slowest = seconds < 0 ? -1 : std::max(slowest, seconds);
    words = std::max(words, f.received_bytes);
    all_words += f.received_bytes;
    most = std::max(most, f.resident());
    if (static_cast<index_t>(r) < most_rows) table.add(plan_row(std::to_string(r), f, seconds));
  }
  fmt::print("{}", table.within(terminal_columns()));
  if (ssize(forecasts) > most_rows)
    print_filled("... and {} more", counted(ssize(forecasts) - most_rows, "rank"));
  const auto total = static_cast<double>(q.m) * static_cast<double>(q.n) *
                     static_cast<double>(q.k) * q.flops_each * 1e-9;
  print_filled(
      "total {} GFLOP; a rank receives {} on average, at most {}, and holds at most {}; predicted "
      "{}",
      human_number(total), human_bytes(all_words / q.ranks), human_bytes(words),
      run::held_text(most, problem.allowance.program),
      slowest < 0 ? "unknown (run `tessera machine` once)" : human_seconds(slowest));
  print_least(problem, all_words / q.ranks);
  const bool through = problem.gpus == nullptr && problem.method.kernel->space == Space::device;
  if (q.ranks == 1 && through) print_pieces(problem);
}

}  // namespace tessera::inline v1::workloads::matmul
