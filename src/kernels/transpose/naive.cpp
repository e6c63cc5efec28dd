// The reference: row by row, as the definition says. Reads run along lines, writes stride across them.

#include "kernels/transpose/variants.hpp"
#include "machine/fork_join.hpp"

namespace tessera::transpose {

void naive(const ConstRecords& a, const Records& b, const Tuning& tuning) {
  const int threads = threads_of(tuning);
  const index_t share = ceil_div(std::max<index_t>(a.rows, 1), threads);
  with_record(a.bytes, [&](auto copy) {
    machine::parallel(threads, [&] {
      machine::parallel_for(0, a.rows, share, [&](index_t begin, index_t end) {
        walk_rows({begin, 0, end - begin, a.cols},
                  [&](index_t i, index_t j) { copy(b.at(j, i), a.at(i, j)); });
      });
    });
  });
}

}  // namespace tessera::transpose
