#include "layout/distribution.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace tessera::inline v1::layout {
namespace {

/// Checks one dimension; `name` is that of the member of BlockCyclic.
void check(const CyclicMap& map, const char* name) {
  require_argument(map.extent >= 0, name,
                   fmt::format("has extent {}: must be at least 0", map.extent));
  require_argument(map.block >= 1 && map.first_block >= 0, name,
                   fmt::format("has blocks of {} and {} indices: must be at least 0 and 1",
                               map.first_block, map.block));
  require_argument(map.parts >= 1, name,
                   fmt::format("has {} parts: must be at least 1", map.parts));
  require_argument(map.source >= -1 && map.source < map.parts, name,
                   fmt::format("has source {}: must be from -1 to {}", map.source, map.parts - 1));
}

void check_box(Range range, index_t extent, const char* name) {
  require_argument(range.begin >= 0 && range.end >= range.begin && range.end <= extent, name,
                   fmt::format("is [{}, {}): must be in the matrix, which has {} there",
                               range.begin, range.end, extent));
}

void check_splits(const std::vector<index_t>& splits, const char* name) {
  require_argument(!splits.empty() && splits.front() == 0, name, "must begin with 0");
  require_argument(std::is_sorted(splits.begin(), splits.end()), name, "must ascend");
}

Segments whole(Range range) { return range.empty() ? Segments{} : Segments{{range, 0}}; }

/// Returns the local index of range.begin if one segment has the whole range.
std::optional<index_t> local_index(const Segments& segments, Range range) {
  for (const auto& [global, local] : segments)
    if (global.begin <= range.begin && range.end <= global.end)
      return local + range.begin - global.begin;
  return std::nullopt;
}

/// Calls f(common) for every stretch that both lists have.
template <class F>
void each_common(const Segments& from, const Segments& to, const F& f) {
  auto a = from.begin();
  auto b = to.begin();
  while (a != from.end() && b != to.end()) {
    const Range common = intersect(a->global, b->global);
    if (!common.empty()) {
      f(Common{common.size(), a->local + common.begin - a->global.begin,
               b->local + common.begin - b->global.begin});
    }
    (a->global.end < b->global.end ? a : b)++;
  }
}

}  // namespace

index_t count(const Segments& segments) {
  index_t sum = 0;
  for (const Segment& segment : segments) sum += segment.global.size();
  return sum;
}

Segments CyclicMap::segments(index_t part, Range range) const {
  if (range.empty()) return {};
  if (source < 0) return {{{0, range.size()}, range.begin}};
  const index_t first = first_block > 0 ? first_block : block;
  const auto begin_of = [&](index_t b) { return b == 0 ? 0 : first + (b - 1) * block; };
  Segments result;
  const index_t offset = (part - source + parts) % parts;  // of the part's first block
  const index_t before = range.begin < first ? 0 : 1 + (range.begin - first) / block;
  const index_t start = before + (offset - before % parts + parts) % parts;
  for (index_t b = start; begin_of(b) < range.end; b += parts) {
    const Range common = intersect({begin_of(b), begin_of(b + 1)}, range);
    // Blocks of the part before this one: b / parts, the first of them perhaps the short one.
    const index_t local = b / parts * block - (b > 0 && b % parts == 0 ? block - first : 0);
    const index_t at = local + common.begin - begin_of(b);
    const Range global{common.begin - range.begin, common.end - range.begin};
    if (!result.empty() && result.back().global.end == global.begin)
      result.back().global.end = global.end;
    else
      result.push_back({global, at});
  }
  return result;
}

index_t CyclicMap::size(index_t part) const { return count(segments(part, {0, extent})); }

Distribution::Distribution(const MatrixLayout& layout)
    : rows_(layout.rows), cols_(layout.cols), ranks_(layout.ranks()) {
  for (index_t rank = 0; rank < ranks_; ++rank) {
    const Box& box = layout.of(rank);
    row_segments_.push_back(whole(box.rows));
    col_segments_.push_back(whole(box.cols));
    parts_.push_back({rank, 0, rank, rank, false});
  }
}

Distribution::Distribution(const BlockCyclic& cyclic, index_t ranks) : ranks_(ranks) {
  const auto& [rows, cols, places, submatrix] = cyclic;
  check(rows, "rows");
  check(cols, "cols");
  const Box box = submatrix.value_or(Box{{0, rows.extent}, {0, cols.extent}});
  check_box(box.rows, rows.extent, "box.rows");
  check_box(box.cols, cols.extent, "box.cols");
  const index_t size = rows.parts * cols.parts;
  require_argument(
      places.empty() ? size <= ranks : static_cast<index_t>(places.size()) == size, "ranks",
      fmt::format("has a grid of {} x {}, which does not fit {} ranks", rows.parts, cols.parts,
                  places.empty() ? ranks : static_cast<index_t>(places.size())));
  for (const index_t rank : places) {
    require_argument(rank >= 0 && rank < ranks, "ranks",
                     fmt::format("has {}, which is not one of {} ranks", rank, ranks));
  }
  rows_ = box.rows.size();
  cols_ = box.cols.size();
  for (index_t row = 0; row < rows.parts; ++row)
    row_segments_.push_back(rows.segments(row, box.rows));
  for (index_t col = 0; col < cols.parts; ++col)
    col_segments_.push_back(cols.segments(col, box.cols));
  for (index_t place = 0; place < size; ++place) {
    const index_t row = place / cols.parts, col = place % cols.parts;
    const bool replica = (rows.source < 0 && row > 0) || (cols.source < 0 && col > 0);
    const index_t rank = places.empty() ? place : places[static_cast<std::size_t>(place)];
    parts_.push_back({rank, 0, row, col, replica});
  }
}

Distribution::Distribution(const BlockGrid& grid, index_t ranks) : ranks_(ranks) {
  check_splits(grid.row_splits, "row_splits");
  check_splits(grid.col_splits, "col_splits");
  const auto block_rows = grid.row_splits.size() - 1, block_cols = grid.col_splits.size() - 1;
  require_argument(
      grid.owners.size() == block_rows * block_cols, "owners",
      fmt::format("has {} ranks for {} x {} blocks", grid.owners.size(), block_rows, block_cols));
  rows_ = grid.row_splits.back();
  cols_ = grid.col_splits.back();
  for (std::size_t i = 0; i < block_rows; ++i)
    row_segments_.push_back(whole({grid.row_splits[i], grid.row_splits[i + 1]}));
  for (std::size_t j = 0; j < block_cols; ++j)
    col_segments_.push_back(whole({grid.col_splits[j], grid.col_splits[j + 1]}));
  std::vector<index_t> arrays(static_cast<std::size_t>(ranks), 0);
  for (std::size_t b = 0; b < grid.owners.size(); ++b) {
    const index_t owner = grid.owners[b];
    require_argument(owner >= 0 && owner < ranks, "owners",
                     fmt::format("has {}, which is not one of {} ranks", owner, ranks));
    parts_.push_back({owner, arrays[static_cast<std::size_t>(owner)]++,
                      static_cast<index_t>(b / block_cols), static_cast<index_t>(b % block_cols),
                      false});
  }
}

index_t Distribution::arrays(index_t rank) const {
  index_t count = 0;
  for (const Part& part : parts_)
    count = part.rank == rank ? std::max(count, part.array + 1) : count;
  return count;
}

Box Distribution::local_box(index_t rank, index_t array) const {
  Box all;
  const auto range_of = [](const Segments& segments) {
    return segments.empty() ? Range{}
                            : Range{segments.front().local,
                                    segments.back().local + segments.back().global.size()};
  };
  const auto enclose = [](Range x, Range y) {
    return x.empty() ? y : Range{std::min(x.begin, y.begin), std::max(x.end, y.end)};
  };
  for (const Part& part : parts_) {
    if (part.rank != rank || part.array != array) continue;
    const Box box{range_of(row_segments(part)), range_of(col_segments(part))};
    if (!box.empty()) all = {enclose(all.rows, box.rows), enclose(all.cols, box.cols)};
  }
  return all;
}

index_t Distribution::elements() const {
  index_t sum = 0;
  for (const Part& part : parts_)
    sum += part.replica ? 0 : count(row_segments(part)) * count(col_segments(part));
  return sum;
}

std::optional<Distribution::Place> Distribution::find(index_t rank, const Box& box) const {
  for (const Part& part : parts_) {
    if (part.rank != rank || part.replica) continue;
    const auto row = local_index(row_segments(part), box.rows);
    const auto col = local_index(col_segments(part), box.cols);
    if (row && col) return Place{part.array, *row, *col};
  }
  return std::nullopt;
}

Distribution Distribution::transposed() const {
  Distribution result = *this;
  std::swap(result.rows_, result.cols_);
  std::swap(result.row_segments_, result.col_segments_);
  for (Part& part : result.parts_) std::swap(part.rows, part.cols);
  return result;
}

Distribution Distribution::relabelled(const std::vector<index_t>& ranks) const {
  require_argument(static_cast<index_t>(ranks.size()) == ranks_, "ranks",
                   fmt::format("has {} elements for {} ranks", ranks.size(), ranks_));
  std::vector<char> taken(ranks.size(), 0);
  for (const index_t rank : ranks) {
    require_argument(rank >= 0 && rank < ranks_ && taken[static_cast<std::size_t>(rank)]++ == 0,
                     "ranks",
                     fmt::format("has {}, which is repeated or not one of the ranks", rank));
  }
  Distribution result = *this;
  for (Part& part : result.parts_) part.rank = ranks[static_cast<std::size_t>(part.rank)];
  return result;
}

void append_common(const Segments& from, const Segments& to, index_t most,
                   std::vector<Common>& common) {
  const std::size_t first = common.size();
  std::vector<Common> joined;
  each_common(from, to, [&](const Common& next) {
    if (!joined.empty() && joined.back().from + joined.back().size == next.from &&
        joined.back().to + joined.back().size == next.to)
      joined.back().size += next.size;
    else
      joined.push_back(next);
  });
  common.reserve(first + joined.size());
  for (const Common& stretch : joined) {
    for (index_t done = 0; done < stretch.size; done += most)
      common.push_back(
          {std::min(most, stretch.size - done), stretch.from + done, stretch.to + done});
  }
}

index_t count_common(const Segments& from, const Segments& to) {
  index_t sum = 0;
  each_common(from, to, [&](const Common& common) { sum += common.size; });
  return sum;
}

}  // namespace tessera::inline v1::layout
