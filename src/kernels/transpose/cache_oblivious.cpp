// Divide and conquer without cache sizes (Frigo et al. 1999): halve the longer side; the base case is a block
// in vector registers.

#include "kernels/transpose/leaf.hpp"
#include "kernels/transpose/variants.hpp"
#include "machine/fork_join.hpp"

namespace tessera::transpose {
namespace {

constexpr index_t leaf_side = 128;

}  // namespace

void cache_oblivious(const ConstRecords& a, const Records& b, const Tuning& tuning) {
  if (a.empty()) return;
  const LeafSet& set = leaf_set(machine::isa());
  const auto both = [](const auto& left, const auto& right) { machine::fork_join(left, right); };
  machine::parallel(threads_of(tuning), [&] {
    if (!has_leaf(a.bytes)) {
      with_record(a.bytes, [&](auto copy) {
        const auto visit = [&](const Block& block) {
          walk_rows(block, [&](index_t i, index_t j) { copy(b.at(j, i), a.at(i, j)); });
        };
        walk_halves({0, 0, a.rows, a.cols}, leaf_side, visit, both);
      });
      return;
    }
    const bool streams =
        (reinterpret_cast<std::uintptr_t>(b.data) | static_cast<std::uintptr_t>(b.stride())) % 64 == 0;
    const auto visit = [&](const Block& block) {
      set.transpose({a.at(block.i, block.j), a.stride(), b.at(block.j, block.i), b.stride(), block.rows,
                     block.cols, a.bytes, streams ? Store::streaming : Store::cached});
      set.fence();
    };
    walk_halves({0, 0, a.rows, a.cols}, leaf_side, visit, both);
  });
}

}  // namespace tessera::transpose
