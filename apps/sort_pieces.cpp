#include "sort_pieces.hpp"

namespace tessera::apps::sort {

index_t rows_of(std::span<const Slice> slices) {
  index_t rows = 0;
  for (const Slice& slice : slices) rows += slice.rows.size();
  return rows;
}

std::unique_ptr<Pieces> make_pieces(const Inputs& inputs, const Request& request, bool verify,
                                    bool with_index, FileQueue& queue) {
  if (request.task == Task::permutation) return make_table_pieces(inputs, request, verify, with_index, queue);
  return make_key_pieces(inputs, request, verify, queue);
}

}  // namespace tessera::apps::sort
