#pragma once
// Forecast of memory and traffic of one rank: arithmetic, tested without a launcher.

#include <set>
#include <vector>

#include "dist/sort/sort.hpp"
#include "mpi/network.hpp"

namespace tessera::inline v1::dist::sort {

struct ForecastRequest {
  index_t n = 0;          ///< keys, or rows of a table
  index_t key_bytes = 8;  ///< of a key; of all key columns together if a permutation is made
  index_t ranks = 1;
  Algorithm algorithm = Algorithm::exact;
  bool keeps_input = false;          ///< keeps a copy of the keys, to sort them again
  index_t passes = 0;                ///< columns by which a permutation is sorted; 0: plain keys
  index_t kernel_bytes = 0;          ///< of a kernel for pairs besides them, for many of them
  std::set<index_t> column_bytes{};  ///< of an element of each carried column
  index_t content_bytes = 0;         ///< of the first rank, to carry columns of variable length
  bool all_rows = true;              ///< and whether all of them are carried
  std::vector<double>
      weights{};  ///< distribution of plain keys in the input, by rank; empty: equal shares
};

struct Forecast {
  index_t items = 0;            ///< this rank's share, before or after the sort
  double sent_bytes = 0;        ///< for input in random order
  index_t most_sent_bytes = 0;  ///< for input in any order
  index_t messages = 0;         ///< sent, for input in random order; without collectives
  index_t home_bytes = 0;       ///< keys and result
  index_t work_bytes = 0;       ///< in addition, at the peak
  [[nodiscard]] index_t memory() const { return home_bytes + work_bytes; }
};

/// Returns the forecast by rank.
[[nodiscard]] std::vector<Forecast> forecast(const ForecastRequest& request);

/// Returns the seconds of messages, without arithmetic, for input in random order with few equal
/// items.
[[nodiscard]] double exchange_seconds(const ForecastRequest& request, const mpi::Network& network);

}  // namespace tessera::inline v1::dist::sort
