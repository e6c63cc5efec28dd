// Brings the axes of a copy between strided arrays into the order of `to` and merges those that are
// adjacent on both sides. In a file without kernels, which libtessera_cuda.so would copy with it.

#include "kernels/transpose/strided.hpp"

namespace tessera::inline v1::transpose {

Rearrangement in_order_of_to(const Rearrangement& task) {
  Rearrangement result;
  result.bytes = task.bytes;
  for (int k = 0; k < task.rank; ++k) {
    if (task.axis[k].extent == 1) continue;
    int at = result.rank++;
    for (; at > 0 && result.axis[at - 1].to < task.axis[k].to; --at)
      result.axis[at] = result.axis[at - 1];
    result.axis[at] = task.axis[k];
  }
  return result;
}

Rearrangement simplified(const Rearrangement& task) {
  const Rearrangement all = in_order_of_to(task);
  Rearrangement result;
  result.bytes = task.bytes;
  for (const Axis* axis = all.axis; axis != all.axis + all.rank; ++axis) {
    Axis* const last = result.rank > 0 ? &result.axis[result.rank - 1] : nullptr;
    if (last != nullptr && last->from == axis->extent * axis->from &&
        last->to == axis->extent * axis->to)
      *last = {last->extent * axis->extent, axis->from, axis->to};
    else
      result.axis[result.rank++] = *axis;
  }
  if (result.rank == 0) return result;
  const Axis& fastest = result.axis[result.rank - 1];
  if (fastest.from == result.bytes && fastest.to == result.bytes) {
    result.bytes *= fastest.extent;
    --result.rank;
  }
  return result;
}

}  // namespace tessera::inline v1::transpose
