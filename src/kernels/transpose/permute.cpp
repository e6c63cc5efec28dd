// Two axes decide: the one that is fastest in `from` and the one that is fastest in `to`. They span 2-D
// transposes; the other axes are loops around them.

#include "kernels/transpose/permute.hpp"

#include "machine/fork_join.hpp"

namespace tessera::transpose {
namespace {

struct Strides {
  index_t from[max_rank] = {};  ///< by axis of `from`, in records
  index_t to[max_rank] = {};    ///< by axis of `from`, in records of `to`
};

Strides strides_of(const Merged& m) {
  Strides strides;
  index_t from = 1;
  index_t to = 1;
  for (int k = m.rank - 1; k >= 0; --k) {
    strides.from[k] = from;
    from *= m.shape[k];
    strides.to[m.axes[k]] = to;
    to *= m.shape[m.axes[k]];
  }
  return strides;
}

void copy_parallel(std::byte* to, const std::byte* from, index_t bytes) {
  constexpr index_t grain = 1 << 20;
  machine::parallel_for(0, bytes, grain, [&](index_t begin, index_t end) {
    std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
  });
}

/// The transposes at the outer positions [begin, end), counted over all axes but `fast_from` and `fast_to`.
void transposes(const Merged& m, const Strides& strides, index_t begin, index_t end, const std::byte* from,
                std::byte* to, const Tuning& tuning) {
  const int fast_from = m.rank - 1;
  const int fast_to = m.axes[m.rank - 1];
  for (index_t position = begin; position < end; ++position) {
    index_t rest = position;
    index_t from_at = 0;
    index_t to_at = 0;
    for (int k = m.rank - 2; k >= 0; --k) {  // in the order of `to`
      const int axis = m.axes[k];
      if (axis == fast_from) continue;
      const index_t index = rest % m.shape[axis];
      rest /= m.shape[axis];
      from_at += index * strides.from[axis];
      to_at += index * strides.to[axis];
    }
    const index_t rows = m.shape[fast_to];
    const index_t cols = m.shape[fast_from];
    cache_oblivious({from + from_at * m.bytes, rows, cols, strides.from[fast_to], m.bytes},
                    {to + to_at * m.bytes, cols, rows, strides.to[fast_from], m.bytes}, tuning);
  }
}

}  // namespace

Merged merge(std::span<const index_t> shape, std::span<const int> axes, index_t bytes) {
  // Runs of axes that stay neighbours, in the order of `to`: first axis of `from` and length of each.
  Merged m;
  m.bytes = bytes;
  int first[max_rank] = {};
  index_t length[max_rank] = {};
  int runs = 0;
  int last = -2;
  for (const int axis : axes) {
    if (shape[static_cast<std::size_t>(axis)] == 1) continue;
    int expected = last + 1;
    while (expected < axis && expected > 0 && shape[static_cast<std::size_t>(expected)] == 1) ++expected;
    if (runs > 0 && axis == expected) {
      length[runs - 1] *= shape[static_cast<std::size_t>(axis)];
    } else {
      first[runs] = axis;
      length[runs++] = shape[static_cast<std::size_t>(axis)];
    }
    last = axis;
  }
  // The place of a run in `from` is the number of runs that begin before it.
  for (int k = 0; k < runs; ++k) {
    int place = 0;
    for (int other = 0; other < runs; ++other) place += first[other] < first[k] ? 1 : 0;
    m.axes[k] = place;
    m.shape[place] = length[k];
  }
  m.rank = runs;
  if (runs > 0 && m.axes[runs - 1] == runs - 1) {
    m.bytes *= m.shape[runs - 1];
    m.rank = runs - 1;
  }
  return m;
}

void permute(std::span<const index_t> shape, std::span<const int> axes, index_t bytes, const std::byte* from,
             std::byte* to, const Tuning& tuning) {
  for (const index_t extent : shape) {
    if (extent == 0) return;
  }
  const Merged m = merge(shape, axes, bytes);
  machine::parallel(threads_of(tuning), [&] {
    if (m.rank == 0) {
      copy_parallel(to, from, m.bytes);
      return;
    }
    const Strides strides = strides_of(m);
    const int fast_from = m.rank - 1;
    const int fast_to = m.axes[m.rank - 1];
    index_t outer = 1;
    for (int k = 0; k < m.rank; ++k) outer *= k == fast_from || k == fast_to ? 1 : m.shape[k];
    // A task moves at least 64 KiB, so that its overhead (about a microsecond) stays below a tenth.
    const index_t inner_bytes = m.shape[fast_from] * m.shape[fast_to] * m.bytes;
    const index_t grain = std::max<index_t>(1, (64 << 10) / inner_bytes);
    machine::parallel_for(0, outer, grain, [&](index_t begin, index_t end) {
      transposes(m, strides, begin, end, from, to, tuning);
    });
  });
}

}  // namespace tessera::transpose
