// Ranks for the parts of a distribution so that the most elements stay where they are: a maximum
// weight assignment, solved exactly by shortest augmenting paths (Kuhn 1955, Jonker and Volgenant
// 1987) in O(ranks^3).

#include <algorithm>
#include <limits>
#include <vector>

#include "base/error.hpp"
#include "layout/distribution.hpp"

namespace tessera::inline v1::layout {
namespace {

using Table = std::vector<std::vector<index_t>>;

/// Returns the elements that a rank holds of a (first index) and a rank of b (second index).
Table common_elements(const Distribution& a, const Distribution& b) {
  const auto ranks = static_cast<std::size_t>(a.ranks());
  Table result(ranks, std::vector<index_t>(ranks, 0));
  for (const Distribution::Part& x : a.parts()) {
    for (const Distribution::Part& y : b.parts()) {
      const index_t rows = count_common(a.row_segments(x), b.row_segments(y));
      if (rows > 0)
        result[static_cast<std::size_t>(x.rank)][static_cast<std::size_t>(y.rank)] +=
            rows * count_common(a.col_segments(x), b.col_segments(y));
    }
  }
  return result;
}

/// Adds row after row to a matching of least cost, with prices that keep all reduced costs at
/// least 0. Rows and columns are counted from 1; 0 is the row that is being added.
class Assignment {
 public:
  explicit Assignment(const Table& gain)
      : gain_(gain),
        size_(gain.size()),
        row_price_(size_ + 1, 0),
        col_price_(size_ + 1, 0),
        row_of_(size_ + 1, 0),
        before_(size_ + 1, 0) {
    for (std::size_t row = 1; row <= size_; ++row) add(row);
  }
  /// Returns the row that a column has, both counted from 0.
  [[nodiscard]] index_t row_of(std::size_t col) const {
    return static_cast<index_t>(row_of_[col + 1]) - 1;
  }

 private:
  void add(std::size_t row) {
    constexpr index_t far = std::numeric_limits<index_t>::max() / 2;
    std::vector<index_t> distance(size_ + 1, far);
    std::vector<char> done(size_ + 1, 0);
    row_of_[0] = row;
    std::size_t col = 0;
    while (row_of_[col] != 0) {
      done[col] = 1;
      const std::size_t from = row_of_[col];
      std::size_t nearest = 0;
      for (std::size_t c = 1; c <= size_; ++c) {
        if (done[c] != 0) continue;
        const index_t cost = -gain_[from - 1][c - 1] - row_price_[from] - col_price_[c];
        if (cost < distance[c]) {
          distance[c] = cost;
          before_[c] = col;
        }
        if (nearest == 0 || distance[c] < distance[nearest]) nearest = c;
      }
      const index_t step = distance[nearest];
      for (std::size_t c = 0; c <= size_; ++c) {
        if (done[c] != 0) {
          row_price_[row_of_[c]] += step;
          col_price_[c] -= step;
        } else {
          distance[c] -= step;
        }
      }
      col = nearest;
    }
    for (; col != 0; col = before_[col]) row_of_[col] = row_of_[before_[col]];
  }

  const Table& gain_;
  std::size_t size_;
  std::vector<index_t> row_price_, col_price_;
  std::vector<std::size_t> row_of_, before_;
};

}  // namespace

std::vector<index_t> best_ranks(const Distribution& a, const Distribution& b) {
  require(a.rows() == b.rows() && a.cols() == b.cols() && a.ranks() == b.ranks(), ExitCode::usage,
          "b: must have the shape and the ranks of a");
  const Table gain = common_elements(a, b);
  const Assignment assignment(gain);
  std::vector<index_t> result;
  for (std::size_t rank = 0; rank < gain.size(); ++rank) result.push_back(assignment.row_of(rank));
  return result;
}

}  // namespace tessera::inline v1::layout
