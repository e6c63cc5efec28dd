// Forecast of a sort's memory, traffic and time of messages; arithmetic.

#include "dist/sort/forecast.hpp"

#include <algorithm>

#include "dist/sort/permute.hpp"
#include "dist/sort/splitting.hpp"
#include "mpi/exchange.hpp"

namespace tessera::inline v1::dist::sort {
namespace {

/// Returns the most bytes of a column and its permuted copy; if it is permuted in place, of the
/// column and its auxiliary memory.
index_t carry_bytes(const ForecastRequest& q, index_t share) {
  index_t most = 0;
  for (const index_t bytes : q.column_bytes) {
    const bool in_place = q.all_rows && permuted_in_place(static_cast<int>(q.ranks), bytes);
    most = std::max(most, in_place ? share * (bytes + 8) + share / 256 * bytes
                                   : 2 * share * bytes + gather_bytes(q.ranks, share, bytes));
  }
  return most;
}

Forecast of_rank(const ForecastRequest& q, index_t share) {
  const bool permutes = q.passes > 0;
  const index_t item_bytes = permutes ? static_cast<index_t>(sizeof(Pair)) : q.key_bytes;
  const index_t held = checked_mul(share, item_bytes, "size of the keys");
  Forecast f;
  f.items = share;
  f.most_sent_bytes = q.ranks == 1 ? 0 : held;
  f.sent_bytes =
      static_cast<double>(held) * static_cast<double>(q.ranks - 1) / static_cast<double>(q.ranks);
  const std::vector<index_t> to(static_cast<std::size_t>(q.ranks), held / q.ranks);
  f.messages = mpi::exchange_messages(to, 0);
  index_t sorting = held;  // the spare buffer
  switch (q.algorithm) {
    case Algorithm::exact:
      break;
    case Algorithm::samplesort:
      if (q.ranks == 1) break;
      sorting += 4 * held;  // at most twice the share is received, and merged into another buffer
      f.sent_bytes *= 1.5;
      f.most_sent_bytes *= 3;
      f.messages += 2;
      break;
    case Algorithm::rounds:
      if (permutes) break;
      sorting = std::max(parts_scratch(share), 2 * ceil_div(share, pieces_of_share)) * item_bytes;
      break;
  }
  if (!permutes) {
    f.home_bytes = held + (q.keeps_input ? held : 0);
    f.work_bytes = sorting;
    return f;
  }
  f.home_bytes = share * (q.key_bytes + 8);
  constexpr index_t small = 4;  // of fewer pairs, buffers are smaller, too
  index_t while_sorting = held + std::max(sorting, held) + std::min(q.kernel_bytes, held / small);
  if (q.passes > 1) {
    // words and places, and a bit per row for ties
    while_sorting += share * (8 + 8) + ceil_div(share, 8) + gather_once_bytes(q.ranks, share, 8);
  }
  const index_t while_checking = share * (8 + 8 + 8 + 1) + gather_once_bytes(q.ranks, share, 8);
  index_t while_carrying = carry_bytes(q, share);
  if (q.all_rows)  // without the keys, with a bit per row for the check of the order
    while_carrying += ceil_div(share, 8) - share * q.key_bytes;
  f.work_bytes = std::max({while_sorting, while_checking, while_carrying});
  f.sent_bytes *= static_cast<double>(q.passes);
  f.sent_bytes += static_cast<double>(q.passes - 1) * 4 * static_cast<double>(share * 8);
  f.most_sent_bytes =
      q.ranks == 1 ? 0 : f.most_sent_bytes * q.passes + (q.passes - 1) * 4 * share * 8;
  f.messages *= q.passes + 4 * (q.passes - 1);
  return f;
}

constexpr double word = sizeof(index_t);

/// Models the search of exact_cuts: the interval between two probes of a round remains for the
/// next.
double search_seconds(const ForecastRequest& q, double item_bytes, const mpi::Network& network) {
  const index_t borders = q.ranks - 1;
  const index_t offered =
      std::max<index_t>(1, probes_per_round(q.ranks, borders) / borders) * borders * q.ranks;
  double seconds = 0;
  for (index_t left = q.n; left > 0;) {
    const index_t counted = std::min(left, offered);
    seconds += all_gather(network, static_cast<double>(offered) * item_bytes, q.ranks) +
               all_reduce(network, 2 * word * static_cast<double>(counted), q.ranks);
    left = counted == left ? 0 : std::min(left - 1, left / counted * borders);
  }
  return seconds + scan(network, word * static_cast<double>(borders), q.ranks);
}

double everything_seconds(const ForecastRequest& q, double share_bytes,
                          const mpi::Network& network) {
  const auto sent = static_cast<index_t>(share_bytes * static_cast<double>(q.ranks - 1) /
                                         static_cast<double>(q.ranks));
  return at_once(network, {q.ranks - 1, q.ranks - 1, sent, sent});
}

}  // namespace

std::vector<Forecast> forecast(const ForecastRequest& request) {
  const layout::BlockMap shares(request.n, request.ranks);
  const bool weighted = static_cast<index_t>(request.weights.size()) == request.ranks;
  const std::vector<index_t> received =
      weighted ? layout::weighted_offsets(request.n, request.weights) : shares.offsets();
  std::vector<Forecast> result;
  for (index_t r = 0; r < request.ranks; ++r) {
    const auto at = static_cast<std::size_t>(r);
    const index_t share =
        std::max(shares.size(r), received[at + 1] - received[at]);  // before or after
    if (r > 0 && share == result.back().items)
      result.push_back(result.back());
    else
      result.push_back(of_rank(request, share));
  }
  // The first rank holds the whole permutation, and elements in rounds.
  if (request.content_bytes > 0)
    result.front().work_bytes = std::max(
        result.front().work_bytes, checked_mul(request.n, 8, "the order") + request.content_bytes);
  return result;
}

double exchange_seconds(const ForecastRequest& q, const mpi::Network& network) {
  if (q.ranks == 1) return 0;
  if (q.passes > 1) {  // between two passes places and keys are permuted: four exchanges of words
    auto once = q;
    once.passes = 1;
    const double words =
        everything_seconds(q, word * static_cast<double>(ceil_div(q.n, q.ranks)), network);
    return static_cast<double>(q.passes) * exchange_seconds(once, network) +
           static_cast<double>(4 * (q.passes - 1)) * words;
  }
  const auto item_bytes =
      static_cast<double>(q.passes > 0 ? static_cast<index_t>(sizeof(Pair)) : q.key_bytes);
  const double share_bytes = item_bytes * static_cast<double>(ceil_div(q.n, q.ranks));
  const double agreement = all_reduce(network, word, q.ranks);
  const double counts = all_to_all(network, word, q.ranks);
  switch (q.algorithm) {
    case Algorithm::exact:
      return 2 * agreement + search_seconds(q, item_bytes, network) + counts +
             everything_seconds(q, share_bytes, network);
    case Algorithm::samplesort:
    case Algorithm::rounds:
      break;
  }
  const double samples = all_gather(
      network,
      (item_bytes + 2 * word) * static_cast<double>(q.ranks) * static_cast<double>(q.ranks),
      q.ranks);
  const auto moved = static_cast<index_t>(share_bytes / 2);
  return 3 * agreement + samples + 2 * counts + everything_seconds(q, share_bytes, network) +
         scan(network, word, q.ranks) + at_once(network, {2, 2, moved, moved});
}

}  // namespace tessera::inline v1::dist::sort
