// Predicted time, traffic and memory of every rank, and the printed plan of a transpose.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/lines.hpp"
#include "base/table.hpp"
#include "base/text.hpp"
#include "dist/transpose/axes.hpp"
#include "run/shares.hpp"
#include "workloads/transpose/problem.hpp"

namespace tessera::inline v1::workloads::transpose {
namespace {

using dist::transpose::Algorithm;
using dist::transpose::Forecast;

std::vector<Forecast> axes_forecast(const Problem& problem) {
  std::vector<Forecast> result;
  for (index_t rank = 0; rank < problem.shape.ranks; ++rank) {
    const index_t bytes =
        dist::transpose::axes_part(problem.extents, problem.axes, rank, problem.shape.ranks)
            .elements *
        problem.shape.element_bytes;
    result.push_back({.touched_bytes = 2 * bytes, .home_bytes = 2 * bytes});
  }
  return result;
}

/// Returns the forecast including the memory of the check of a scaled update: the old C, another
/// result, and its exchange.
std::vector<Forecast> matrix_forecast(const Problem& problem) {
  auto result = forecast(problem.shape, problem.method);
  const auto& q = problem.shape;
  if (q.scale.plain()) return result;
  auto plain = q;
  plain.scale = {};
  const auto check = forecast(plain, {.algorithm = Algorithm::alltoall});
  for (std::size_t r = 0; r < result.size(); ++r) {
    const auto rank = static_cast<index_t>(r);
    const auto extents = problem.result_extents();
    const index_t mine = q.home(extents[0], extents[1]).of(rank).area() * q.element_bytes;
    if (q.scale.beta != 0) result[r].home_bytes += mine;
    result[r].work_bytes = std::max(result[r].work_bytes, 2 * mine + check[r].work_bytes);
  }
  return result;
}

std::vector<Forecast> forecast_of(const Problem& problem) {
  return problem.permutes() ? axes_forecast(problem) : matrix_forecast(problem);
}

/// Predicts the seconds of a rank: memory traffic at the measured copy rate plus the messages,
/// without overlap. Returns -1 if the machine was not measured.
double predicted_seconds(const Problem& problem, const Forecast& f, std::size_t rank,
                         const run::Ceilings& ceilings, double exchange) {
  if (const auto& speeds = problem.shape.weights; !speeds.empty())
    return static_cast<double>(f.touched_bytes) / speeds[rank] + exchange;
  const index_t per_node = problem.shape.ranks_per_node;
  const auto copy = ceilings.at("copy", problem.method.tuning.threads * per_node);
  if (!copy) return -1;
  return static_cast<double>(f.touched_bytes) / (*copy * 1e9 / static_cast<double>(per_node)) +
         exchange;
}

double exchange_of(const Problem& problem, const run::Ceilings& ceilings) {
  if (problem.permutes()) return 0;
  return exchange_seconds(problem.shape, problem.method,
                          run::network(ceilings, problem.shape.ranks));
}

}  // namespace

void plan(Problem& problem) { problem.forecasts = forecast_of(problem); }

run::Held held_by(const Problem& problem, index_t rank) {
  const Forecast& f = problem.forecasts[static_cast<std::size_t>(rank)];
  return {f.memory(), f.seen_bytes};
}

bool fits(const Problem& problem) {
  const auto& all = problem.forecasts;
  return std::all_of(all.begin(), all.end(), [&](const Forecast& f) {
    return problem.allowance.holds({f.memory(), f.seen_bytes});
  });
}

index_t most_memory(const Problem& problem, index_t ranks) {
  Problem other = problem;
  other.shape.ranks = ranks;
  other.shape.ranks_per_node = std::min(ranks, problem.shape.ranks_per_node);
  index_t most = 0;
  for (const Forecast& f : forecast_of(other)) most = std::max(most, f.resident());
  return most;
}

Need need_of(const Problem& problem, const run::Ceilings& ceilings) {
  Need need;
  const double exchange = exchange_of(problem, ceilings);
  const auto& forecasts = problem.forecasts;
  for (std::size_t r = 0; r < forecasts.size(); ++r) {
    need.memory = std::max(need.memory, forecasts[r].memory());
    need.seconds =
        std::max(need.seconds, predicted_seconds(problem, forecasts[r], r, ceilings, exchange));
  }
  return need;
}

Volumes volumes_of(const Asked& asked, const dist::transpose::Tiles* tiles) {
  const Problem& problem = asked.problem;
  const double matrix = problem.moved_bytes() / 2;
  Volumes v;
  const auto load = [&](const run::Input* input) {
    (input == nullptr ? v.generated : v.read) += matrix;
  };
  load(asked.inputs.in.get());
  if (asked.inputs.in && !problem.chunk.empty()) v.decoded = matrix;
  const auto& scale = problem.shape.scale;
  if (scale.beta != 0) load(asked.inputs.c.get());
  if (tiles != nullptr)
    v.touched = static_cast<double>(held_of(*tiles, problem.shape.ranks) * problem.shape.ranks);
  else
    for (const Forecast& f : problem.forecasts) v.touched += static_cast<double>(f.memory());
  if (scale.beta != 0 || problem.shape.in_place) v.restored = 2 * matrix;
  if (problem.verify) v.hashed = 2 * matrix;
  if (problem.verify && !scale.plain()) v.streamed = 4 * matrix;  // computed again
  if (!problem.out.empty()) v.written = matrix;
  return v;
}

void print_plan(const Problem& problem, const run::Ceilings& ceilings) {
  const auto& forecasts = problem.forecasts;
  print_filled("plan: {} {} to {} on {} x {}, algorithm {}, kernel {}", problem.element.type_text(),
               fmt::join(problem.extents, " x "), fmt::join(problem.result_extents(), " x "),
               counted(problem.shape.ranks, "rank"),
               counted(problem.method.tuning.threads, "thread"), problem.algorithm, problem.kernel);
  if (problem.gpus != nullptr)
    print_filled("the matrices stay on the GPUs; exchange: {}", problem.gpus->text());
  if (!problem.shape.weights.empty()) {
    print_filled("rows by measured speed, GB/s a rank: {}",
                 run::text_of_weights(problem.shape.weights, 1e9));
  }
  Table table({"rank", "memory traffic", "received", "sent", "messages", "home", "work space",
               "predicted"});
  const double exchange = exchange_of(problem, ceilings);
  double slowest = 0;
  index_t words = 0, most = 0;
  constexpr index_t most_rows = 32;
  for (std::size_t r = 0; r < forecasts.size(); ++r) {
    const Forecast& f = forecasts[r];
    const double seconds = predicted_seconds(problem, f, r, ceilings, exchange);
    slowest = seconds < 0 ? -1 : std::max(slowest, seconds);
    words = std::max(words, f.received_bytes);
    most = std::max(most, f.resident());
    if (static_cast<index_t>(r) >= most_rows) continue;
    table.add({std::to_string(r), human_bytes(f.touched_bytes), human_bytes(f.received_bytes),
               human_bytes(f.sent_bytes), std::to_string(f.messages), human_bytes(f.home_bytes),
               human_bytes(f.work_bytes), seconds < 0 ? "unknown" : human_seconds(seconds)});
  }
  fmt::print("{}", table.within(terminal_columns()));
  if (ssize(forecasts) > most_rows)
    print_filled("... and {} more", counted(ssize(forecasts) - most_rows, "rank"));
  print_filled(
      "total {} read once and written once; a rank receives at most {} and holds at most {}; "
      "predicted {}",
      human_bytes(problem.moved_bytes()), human_bytes(words),
      run::held_text(most, problem.allowance.program),
      slowest < 0 ? "unknown (run `tessera machine` once)" : human_seconds(slowest));
}

}  // namespace tessera::inline v1::workloads::transpose
