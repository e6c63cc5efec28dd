// The textbook variants for records of any size.

#include "kernels/transpose/textbook.hpp"

namespace tessera::inline v1::transpose {

void naive(const ConstRecords& a, const Records& b, const Tuning& tuning) {
  with_record(a.bytes, [&](auto copy) { naive_walk(a, b, threads_of(tuning), copy); });
}

void tiled(const ConstRecords& a, const Records& b, const Tuning& tuning) {
  with_record(a.bytes, [&](auto copy) { tiled_walk(a, b, tuning, threads_of(tuning), copy); });
}

void column(const ConstRecords& a, const Records& b, const Tuning& tuning) {
  with_record(a.bytes, [&](auto copy) { column_walk(a, b, tuning, threads_of(tuning), copy); });
}

void recursive(const ConstRecords& a, const Records& b, const Tuning& tuning) {
  if (a.empty()) return;
  // The fewest records for which a task pays off.
  constexpr index_t least_task = index_t{1} << 14;
  const auto both = [](const Submatrix& block, const auto& left, const auto& right) {
    if (block.rows * block.cols >= least_task) return machine::fork_join(left, right);
    left();
    right();
  };
  with_record(a.bytes, [&](auto copy) {
    machine::parallel(threads_of(tuning), [&] { recursive_walk(a, b, tuning, copy, both); });
  });
}

}  // namespace tessera::inline v1::transpose
