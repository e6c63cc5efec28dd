#pragma once
// What one rank holds and moves: arithmetic, tested without a launcher.

#include <vector>

#include "dist/sort/sort.hpp"
#include "mpi/network.hpp"

namespace tessera::dist::sort {

struct ForecastRequest {
  index_t n = 0;          ///< keys, or rows of a table
  index_t key_bytes = 8;  ///< of a key; of all key columns together when a permutation is made
  index_t ranks = 1;
  Algorithm algorithm = Algorithm::exact;
  bool keeps_input = false;         ///< a copy of the keys stays, to sort them again
  index_t passes = 0;               ///< columns that a permutation is sorted by; 0: plain keys
  index_t widest_column_bytes = 0;  ///< of an element of the columns that are carried along
  bool all_rows = true;             ///< and whether all of them are
  std::vector<double> weights{};    ///< by which plain keys come in, a rank; empty: in equal shares
};

struct Forecast {
  index_t items = 0;            ///< this rank's share, before or after the sort
  double sent_bytes = 0;        ///< when the input is in random order
  index_t most_sent_bytes = 0;  ///< in any order
  index_t messages = 0;         ///< sent, when the input is in random order; collectives apart
  index_t home_bytes = 0;       ///< keys and result
  index_t work_bytes = 0;       ///< beside them, at the peak
  [[nodiscard]] index_t memory() const { return home_bytes + work_bytes; }
};

/// By rank.
[[nodiscard]] std::vector<Forecast> forecast(const ForecastRequest& request);

/// Seconds that the sort would spend on messages if computing took none, the input in random
/// order and few items equal.
[[nodiscard]] double exchange_seconds(const ForecastRequest& request, const mpi::Network& network);

}  // namespace tessera::dist::sort
