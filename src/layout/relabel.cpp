#include "layout/relabel.hpp"

#include <limits>

namespace tessera::layout {
namespace {

/// Minimal-cost assignment of rows to columns, row by row: for each new row a search of the
/// shortest path to a free column, in costs reduced by the potentials of rows and columns.
class Assignment {
 public:
  explicit Assignment(index_t size)
      : size_(size),
        row_of_(static_cast<std::size_t>(size) + 1, -1),
        row_potential_(row_of_.size()),
        column_potential_(row_of_.size()) {}

  template <class Cost>
  std::vector<index_t> solve(const Cost& cost) {
    for (index_t row = 0; row < size_; ++row) add(row, cost);
    row_of_.pop_back();
    return row_of_;
  }

 private:
  template <class Cost>
  void add(index_t row, const Cost& cost) {
    constexpr index_t far = std::numeric_limits<index_t>::max();
    std::vector<index_t> shortest(row_of_.size(), far), from(row_of_.size(), size_);
    std::vector<bool> done(row_of_.size(), false);
    index_t column = size_;  // a virtual column, the start of the path
    at(row_of_, column) = row;
    do {
      done[static_cast<std::size_t>(column)] = true;
      const index_t here = at(row_of_, column);
      index_t step = far, next = size_;
      for (index_t c = 0; c < size_; ++c) {
        if (done[static_cast<std::size_t>(c)]) continue;
        const index_t reduced = cost(here, c) - at(row_potential_, here) - at(column_potential_, c);
        if (reduced < at(shortest, c)) {
          at(shortest, c) = reduced;
          at(from, c) = column;
        }
        if (at(shortest, c) < step) {
          step = at(shortest, c);
          next = c;
        }
      }
      for (index_t c = 0; c <= size_; ++c) {
        if (done[static_cast<std::size_t>(c)]) {
          at(row_potential_, at(row_of_, c)) += step;
          at(column_potential_, c) -= step;
        } else if (at(shortest, c) != far) {
          at(shortest, c) -= step;
        }
      }
      column = next;
    } while (at(row_of_, column) >= 0);
    for (; column != size_; column = at(from, column))
      at(row_of_, column) = at(row_of_, at(from, column));
  }

  static index_t& at(std::vector<index_t>& values, index_t i) {
    return values[static_cast<std::size_t>(i)];
  }

  index_t size_;
  std::vector<index_t> row_of_, row_potential_, column_potential_;
};

index_t kept(const MatrixLayout& layout, const MatrixLayout& home) {
  index_t sum = 0;
  for (index_t rank = 0; rank < home.ranks(); ++rank)
    sum += intersect(layout.of(rank), home.of(rank)).area();
  return sum;
}

}  // namespace

MatrixLayout relabelled(const MatrixLayout& layout, const MatrixLayout& home) {
  const auto box_of = Assignment(home.ranks()).solve([&](index_t box, index_t rank) {
    return -intersect(layout.of(box), home.of(rank)).area();
  });
  MatrixLayout result = layout;
  for (std::size_t rank = 0; rank < box_of.size(); ++rank)
    result.boxes[rank] = layout.of(box_of[rank]);
  return kept(result, home) > kept(layout, home) ? result : layout;
}

}  // namespace tessera::layout
