// Selects the out-of-core sort of plain keys or of table rows; rows and buckets of slices.

#include "workloads/sort/external/pieces.hpp"

namespace tessera::inline v1::workloads::sort {

index_t rows_of(std::span<const Slice> slices) {
  index_t rows = 0;
  for (const Slice& slice : slices) rows += slice.rows.size();
  return rows;
}

std::vector<RoomRows> buckets_of(std::span<const Slice> slices) {
  std::vector<RoomRows> buckets(1);
  index_t first = 0;
  for (const Slice& slice : slices) {
    const bool divided = !slice.buckets.empty();
    if (divided) buckets.resize(slice.buckets.size() - 1);
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      const index_t to_room = first - slice.rows.begin;
      const layout::Range rows =
          divided ? layout::Range{slice.buckets[b], slice.buckets[b + 1]} : slice.rows;
      if (!rows.empty()) buckets[b].push_back({rows.begin + to_room, rows.end + to_room});
    }
    first += slice.rows.size();
  }
  return buckets;
}

std::unique_ptr<RowPieces> make_pieces(const Inputs& inputs, const Problem& problem, bool verify,
                                       bool with_index, io::FileQueue& queue) {
  if (problem.task == Task::permutation)
    return make_table_pieces(inputs, problem, verify, with_index, queue);
  return make_key_pieces(inputs, problem, verify, queue);
}

}  // namespace tessera::inline v1::workloads::sort
