#include "layout/home.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "base/text.hpp"

namespace tessera::inline v1::layout {
namespace {

/// Returns a box that overlaps an earlier one, or nullptr, by a sweep line over the rows that keeps
/// the column ranges of the crossed boxes sorted.
const Box* find_overlap(const std::vector<Box>& boxes) {
  struct SweepEvent {
    index_t row;
    bool begins;
    const Box* box;
  };
  std::vector<SweepEvent> events;
  for (const Box& box : boxes) {
    if (box.empty()) continue;
    events.push_back({box.rows.begin, true, &box});
    events.push_back({box.rows.end, false, &box});
  }
  std::sort(events.begin(), events.end(), [](const SweepEvent& a, const SweepEvent& b) {
    return a.row != b.row ? a.row < b.row : a.begins < b.begins;
  });
  std::map<index_t, index_t> crossed;  // columns: begin, end
  for (const SweepEvent& event : events) {
    const Range cols = event.box->cols;
    if (!event.begins) {
      crossed.erase(cols.begin);
      continue;
    }
    const auto behind = crossed.lower_bound(cols.begin);
    if (behind != crossed.end() && behind->first < cols.end) return event.box;
    if (behind != crossed.begin() && std::prev(behind)->second > cols.begin) return event.box;
    crossed.emplace(cols.begin, cols.end);
  }
  return nullptr;
}

}  // namespace

void require_home(const MatrixLayout& layout, index_t ranks, const char* argument) {
  require_argument(layout.rows >= 0 && layout.cols >= 0, argument,
                   fmt::format("is {} x {}: no extent may be negative", layout.rows, layout.cols));
  require_argument(
      layout.ranks() == ranks, argument,
      fmt::format("has {}: the communicator has {}; pass one box per rank",
                  layout.ranks() == 1 ? "1 box" : fmt::format("{} boxes", layout.ranks()),
                  counted(ranks, "rank")));
  index_t covered = 0;
  for (const Box& box : layout.boxes) {
    if (box.empty()) continue;
    const bool inside = box.rows.begin >= 0 && box.rows.end <= layout.rows && box.cols.begin >= 0 &&
                        box.cols.end <= layout.cols;
    require_argument(
        inside, argument,
        fmt::format("has the box {}, which exceeds {} x {}", text(box), layout.rows, layout.cols));
    covered += box.area();
  }
  if (const Box* const overlap = find_overlap(layout.boxes); overlap != nullptr)
    throw Error::of_argument(
        argument, fmt::format("has the box {}, which overlaps another rank's", text(*overlap)));
  require_argument(covered == layout.rows * layout.cols, argument,
                   fmt::format("has boxes that cover {} of {} elements; cover all", covered,
                               layout.rows * layout.cols));
}

}  // namespace tessera::inline v1::layout
