// Column-based iteration: a strip writes only as many rows of b as it is wide, so their open lines fit the
// L1.

#include "kernels/transpose/variants.hpp"
#include "machine/fork_join.hpp"

namespace tessera::transpose {

void column(const ConstRecords& a, const Records& b, const Tuning& tuning) {
  const int threads = threads_of(tuning);
  const index_t width = tuning.column_width;
  const index_t strips = ceil_div(a.cols, width);
  // Wide matrices are shared by strips; where there are fewer strips than threads, by rows.
  const index_t parts = strips >= threads ? 1 : threads;
  const index_t part = ceil_div(std::max<index_t>(a.rows, 1), parts);
  with_record(a.bytes, [&](auto copy) {
    machine::parallel(threads, [&] {
      machine::parallel_for(0, strips * parts, 1, [&](index_t begin, index_t) {
        const index_t top = begin % parts * part;
        const index_t left = begin / parts * width;
        const Block block{top, left, std::clamp<index_t>(a.rows - top, 0, part),
                          std::min(width, a.cols - left)};
        walk_columns(block, width, [&](index_t i, index_t j) { copy(b.at(j, i), a.at(i, j)); });
      });
    });
  });
}

}  // namespace tessera::transpose
