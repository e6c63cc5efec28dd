#include "dist/sort/forecast.hpp"

#include <algorithm>

#include "dist/sort/permute.hpp"
#include "mpi/exchange.hpp"

namespace tessera::dist::sort {
namespace {

/// What the peaks of gather() take: requests, their places and owners, what others ask for, and the answers.
index_t gather_bytes(const ForecastRequest& q, index_t share, index_t element_bytes) {
  if (q.ranks == 1) return 0;
  const index_t mine = std::min(share, requests_at_once);
  const index_t asked = std::min(share, checked_mul(requests_at_once, q.ranks, "the plan"));
  return mine * (8 + 4 + 4 + element_bytes) + asked * (8 + element_bytes);
}

Forecast of_rank(const ForecastRequest& q, index_t share) {
  const bool permutes = q.passes > 0;
  const index_t item_bytes = permutes ? static_cast<index_t>(sizeof(Pair)) : q.key_bytes;
  const index_t held = checked_mul(share, item_bytes, "the plan");
  Forecast f;
  f.items = share;
  f.most_sent_bytes = q.ranks == 1 ? 0 : held;
  f.sent_bytes = static_cast<double>(held) * static_cast<double>(q.ranks - 1) / static_cast<double>(q.ranks);
  const std::vector<index_t> to(static_cast<std::size_t>(q.ranks), held / q.ranks);
  f.messages = mpi::exchange_messages(to, 0);
  index_t sorting = held;  // the spare room
  if (q.algorithm == Algorithm::samplesort && q.ranks > 1) {
    sorting += 4 * held;  // at most twice the share comes, and is merged beside it
    f.sent_bytes *= 1.5;
    f.most_sent_bytes *= 3;
    f.messages += 2;
  }
  if (q.algorithm == Algorithm::rounds && !permutes)
    sorting = std::max(parts_scratch(share), 2 * ceil_div(share, pieces_of_share)) * item_bytes;
  if (!permutes) {
    f.home_bytes = held + (q.keeps_input ? held : 0);
    f.work_bytes = sorting;
    return f;
  }
  f.home_bytes = share * (q.key_bytes + 8);
  const index_t places = share * 8;
  const index_t values = q.passes > 1 ? share * 8 : 0;
  const index_t while_sorting = held + places + values + std::max(sorting, held + gather_bytes(q, share, 8));
  const index_t while_checking = share * (8 + 8 + 8 + 1) + gather_bytes(q, share, 8);
  const index_t while_carrying =
      q.widest_column_bytes == 0
          ? 0
          : 2 * share * q.widest_column_bytes + gather_bytes(q, share, q.widest_column_bytes);
  f.work_bytes = std::max({while_sorting, while_checking, while_carrying});
  f.sent_bytes *= static_cast<double>(q.passes);
  f.sent_bytes += static_cast<double>(q.passes - 1) * 4 * static_cast<double>(share * 8);
  f.most_sent_bytes = q.ranks == 1 ? 0 : f.most_sent_bytes * q.passes + (q.passes - 1) * 4 * share * 8;
  f.messages *= q.passes + 4 * (q.passes - 1);
  return f;
}

}  // namespace

std::vector<Forecast> forecast(const ForecastRequest& request) {
  const layout::BlockMap shares(request.n, request.ranks);
  std::vector<Forecast> result;
  for (index_t r = 0; r < request.ranks; ++r) {
    const index_t share = shares.size(r);
    if (r > 0 && share == result.back().items)
      result.push_back(result.back());
    else
      result.push_back(of_rank(request, share));
  }
  return result;
}

}  // namespace tessera::dist::sort
