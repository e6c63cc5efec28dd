#include "kernels/memory/stream_pipeline.hpp"

#include <algorithm>
#include <numeric>

namespace tessera::inline v1::memory {
namespace {

/// Returns when a stage of every piece began.
std::vector<double> begins_of(std::span<const PieceTimes> pieces, std::size_t stage, double alone) {
  std::vector<std::size_t> by_end(pieces.size());
  std::iota(by_end.begin(), by_end.end(), std::size_t{0});
  const auto end_of = [&](std::size_t piece) { return pieces[piece].reached[stage + 1]; };
  std::stable_sort(by_end.begin(), by_end.end(),
                   [&](std::size_t a, std::size_t b) { return end_of(a) < end_of(b); });
  std::vector<double> begins(pieces.size());
  double free = 0;
  for (const std::size_t piece : by_end) {
    const double ready = pieces[piece].reached[stage], end = end_of(piece);
    begins[piece] = std::min(end, std::max(ready, std::min(free, end - alone)));
    free = end;
  }
  return begins;
}

}  // namespace

const char* name(Stage stage) {
  switch (stage) {
    case Stage::to_device:
      return "to device";
    case Stage::kernel:
      return "kernel";
    case Stage::from_device:
      return "from device";
  }
  return "";
}

std::vector<Issued> issue_order(index_t pieces, index_t streams, Issue issue) {
  std::vector<Issued> order;
  const index_t group = issue == Issue::breadth ? streams : 1;
  for (index_t first = 0; first < pieces; first += group) {
    for (const Stage stage : stages)
      for (index_t piece = first; piece < std::min(pieces, first + group); ++piece)
        order.push_back({stage, piece});
  }
  return order;
}

std::vector<DeviceSpan> spans_of(std::span<const PieceTimes> pieces, index_t streams,
                                 const std::array<double, stages.size()>& alone) {
  std::array<std::vector<double>, stages.size()> begins;
  for (std::size_t stage = 0; stage < stages.size(); ++stage)
    begins[stage] = begins_of(pieces, stage, alone[stage]);
  std::vector<DeviceSpan> spans;
  for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
    const auto number = static_cast<index_t>(piece);
    for (std::size_t stage = 0; stage < stages.size(); ++stage)
      spans.push_back({name(stages[stage]), number, number % streams, begins[stage][piece],
                       pieces[piece].reached[stage + 1]});
  }
  return spans;
}

}  // namespace tessera::inline v1::memory
