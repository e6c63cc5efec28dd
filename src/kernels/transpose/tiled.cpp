// Square tiles: the lines that a tile writes stay in the cache until they are full.

#include "kernels/transpose/variants.hpp"
#include "machine/fork_join.hpp"

namespace tessera::transpose {

void tiled(const ConstRecords& a, const Records& b, const Tuning& tuning) {
  const int threads = threads_of(tuning);
  const index_t tiles = ceil_div(a.rows, tuning.tile) * ceil_div(a.cols, tuning.tile);
  const index_t share = ceil_div(std::max<index_t>(tiles, 1), 4 * threads);  // four pieces a thread even out
  with_record(a.bytes, [&](auto copy) {
    machine::parallel(threads, [&] {
      machine::parallel_for(0, tiles, share, [&](index_t begin, index_t end) {
        for (index_t position = begin; position < end; ++position) {
          walk_rows(tile_at(position, a.rows, a.cols, tuning.tile, tuning.order),
                    [&](index_t i, index_t j) { copy(b.at(j, i), a.at(i, j)); });
        }
      });
    });
  });
}

}  // namespace tessera::transpose
