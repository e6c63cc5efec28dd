// Predicted time, traffic and memory of every rank, and the printed plan of a sort.

#include <fmt/core.h>

#include <algorithm>

#include "base/lines.hpp"
#include "base/table.hpp"
#include "base/text.hpp"
#include "run/shares.hpp"
#include "workloads/sort/problem.hpp"

namespace tessera::inline v1::workloads::sort {
namespace {

using dist::sort::Forecast;

/// Returns the seconds in which the threads of a rank sort its keys, by the rate measured for keys
/// of 8 bytes. Without it: uniform u64 on one thread of Emerald Rapids, 11.2 ns a key of 1e7.
double seconds_in_cache(const Problem& problem, const Forecast& f, const run::Ceilings& ceilings,
                        index_t ranks_per_node) {
  constexpr double usual = 8 / 11e-9;  // bytes a second and thread
  index_t key_bytes = problem.task == Task::keys ? 0 : index_t{sizeof(std::uint64_t)};
  for (const SortColumn& column : problem.by) key_bytes += column.form.bytes;
  const auto node = ceilings.at("sort", problem.method.threads * ranks_per_node);
  const double rate = node ? *node * 1e9 / static_cast<double>(ranks_per_node)
                           : usual * static_cast<double>(problem.method.threads);
  return static_cast<double>(f.items * key_bytes) / rate;
}

/// Predicts the seconds of a sort: a key is read and written about six times on a rank (twice to
/// distribute, twice in the cache-sized rest, twice to merge), at the measured copy bandwidth of
/// the node, unless the CPU takes longer than that, plus the messages. Returns -1 if the machine
/// was not measured.
double predicted_seconds(const Problem& problem, const Forecast& f, const run::Ceilings& ceilings,
                         index_t ranks_per_node, double exchange) {
  const auto copy = ceilings.at("copy", problem.method.threads * ranks_per_node);
  if (!copy) return -1;
  constexpr double passes = 6;
  const double node = *copy * 1e9 / static_cast<double>(ranks_per_node);
  const double in_memory = passes * static_cast<double>(f.home_bytes) / node;
  const auto* const row = find_variant(tessera::sort::variants(), problem.method.kernel);
  const bool on_host = row == nullptr || row->space == Space::host;
  return std::max(in_memory, on_host ? seconds_in_cache(problem, f, ceilings, ranks_per_node) : 0) +
         exchange;
}

dist::sort::ForecastRequest forecast_request(const Problem& problem, index_t ranks) {
  dist::sort::ForecastRequest q{.n = problem.n,
                                .key_bytes = 0,
                                .ranks = ranks,
                                .algorithm = problem.method.algorithm,
                                .keeps_input = problem.keeps_input,
                                .weights = problem.weights};
  for (const SortColumn& column : problem.by) q.key_bytes += column.form.bytes;
  for (const io::Column& column : problem.carried) q.column_bytes.insert(column.row_bytes());
  if (problem.generated() && !problem.out.empty()) q.column_bytes.insert(q.key_bytes);
  q.content_bytes = content_share(problem);
  if (problem.task != Task::keys) {
    for (const SortColumn& column : problem.by) q.passes += column.form.words();
    q.passes = std::max<index_t>(1, q.passes);
    q.all_rows = !problem.takes_first() && !problem.unique;
    if (problem.method.kernel != "mergesort")
      q.kernel_bytes = pair_buffer_bytes(problem.method.threads);
  }
  return q;
}

double exchange_of(const Problem& problem, const run::Ceilings& ceilings) {
  return exchange_seconds(forecast_request(problem, problem.ranks),
                          run::network(ceilings, problem.ranks));
}

}  // namespace

std::vector<index_t> input_offsets(const Problem& problem, index_t ranks) {
  const bool weighted = static_cast<index_t>(problem.weights.size()) == ranks;
  return weighted ? layout::weighted_offsets(problem.n, problem.weights)
                  : layout::BlockMap(problem.n, ranks).offsets();
}

void plan(Problem& problem) {
  problem.forecasts = forecast(forecast_request(problem, problem.ranks));
}

index_t most_memory(const Problem& problem, index_t ranks) {
  index_t most = 0;
  for (const Forecast& f :
       ranks == problem.ranks ? problem.forecasts : forecast(forecast_request(problem, ranks)))
    most = std::max(most, f.memory());
  return most;
}

bool can_take_rounds(const Problem& problem) {
  const auto* const row = find_variant(tessera::sort::variants(), problem.method.kernel);
  const bool on_host = row == nullptr || row->space == Space::host;
  return problem.task == Task::keys && problem.algorithm == "exact" && !problem.takes_first() &&
         !problem.unique && problem.gpus == nullptr && on_host &&
         problem.kernels == problem.method.kernel;
}

Problem in_rounds(Problem problem) {
  problem.algorithm = "rounds";
  problem.method.algorithm = dist::sort::Algorithm::rounds;
  plan(problem);
  return problem;
}

Need need_of(const Problem& problem, const run::Ceilings& ceilings, index_t ranks_per_node) {
  Need need;
  const double exchange = exchange_of(problem, ceilings);
  for (const Forecast& f : problem.forecasts) {
    need.memory = std::max(need.memory, f.memory());
    need.seconds =
        std::max(need.seconds, predicted_seconds(problem, f, ceilings, ranks_per_node, exchange));
  }
  if (can_take_rounds(problem)) need.least = most_memory(in_rounds(problem), problem.ranks);
  return need;
}

Volumes volumes_of(const Problem& problem, Mode mode) {
  const bool of_keys = problem.task == Task::keys;
  index_t key = 0, row = 0;
  for (const SortColumn& column : problem.by) key += column.form.bytes;
  for (const io::Column& column : problem.carried) row += column.row_bytes();
  const auto n = static_cast<double>(problem.n), rows = static_cast<double>(problem.rows_out());
  const double keys = n * static_cast<double>(key), carried = n * static_cast<double>(row);
  Volumes v;
  (problem.generated() ? v.generated : v.read) = keys + carried;
  for (const Forecast& f : problem.forecasts) v.touched += static_cast<double>(f.memory());
  if (mode == Mode::out_of_core && problem.task != Task::quantiles) v.spilled = keys + carried;
  if (problem.keeps_input && of_keys) v.restored = 2 * keys;
  v.reloads = of_keys && !problem.keeps_input;
  v.streamed = 4 * carried;  // gathered by the permutation
  if (problem.verify) v.hashed = 2 * keys + 2 * carried;
  if (!problem.out.empty()) v.written = rows * static_cast<double>(of_keys ? key : row);
  if (!problem.argsort.empty()) v.written += rows * double{sizeof(std::uint64_t)};
  return v;
}

void print_plan(const Problem& problem, const run::Ceilings& ceilings, index_t ranks_per_node) {
  const auto& forecasts = problem.forecasts;
  print_filled("plan: {} on {} x {}, algorithm {}, kernel {}",
               counted(problem.n, problem.task == Task::keys ? "key" : "row"),
               counted(problem.ranks, "rank"), counted(problem.method.threads, "thread"),
               problem.algorithm, problem.kernels);
  if (problem.gpus != nullptr)
    print_filled("the keys stay on the GPUs; exchange: {}", problem.gpus->text());
  Table table(
      {"rank", "items", "sent", "sent at most", "messages", "home", "work space", "predicted"});
  const double exchange = exchange_of(problem, ceilings);
  double slowest = 0;
  constexpr index_t most_rows = 32;
  for (std::size_t r = 0; r < forecasts.size(); ++r) {
    const Forecast& f = forecasts[r];
    const double seconds = predicted_seconds(problem, f, ceilings, ranks_per_node, exchange);
    slowest = seconds < 0 ? -1 : std::max(slowest, seconds);
    if (static_cast<index_t>(r) >= most_rows) continue;
    table.add({std::to_string(r), std::to_string(f.items), human_bytes(f.sent_bytes),
               human_bytes(f.most_sent_bytes), std::to_string(f.messages),
               human_bytes(f.home_bytes), human_bytes(f.work_bytes),
               seconds < 0 ? "unknown" : human_seconds(seconds)});
  }
  fmt::print("{}", table.within(terminal_columns()));
  if (ssize(forecasts) > most_rows)
    print_filled("... and {} more", counted(ssize(forecasts) - most_rows, "rank"));
  const index_t most = most_memory(problem, problem.ranks);
  const std::string shares =
      problem.weights.empty()
          ? "the shares differ by at most one item"
          : fmt::format(
                "keys are loaded by measured speed, Mkeys/s a rank: {}, and written in equal "
                "shares",
                run::text_of_weights(problem.weights, 1e6));
  print_filled("{}; a rank holds at most {}; predicted {}", shares,
               run::held_text(most, problem.allowance.program),
               slowest < 0 ? "unknown (run `tessera machine` once)" : human_seconds(slowest));
}

}  // namespace tessera::inline v1::workloads::sort
