// Copies between strided arrays: simplifies the task (simplified.cpp) and calls the kernel for what
// is left.

#include "kernels/transpose/strided.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/transpose/halves.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::transpose {
namespace {

/// Returns the axis other than the fastest of `to` along which records of `from` are contiguous; -1
/// if there is none, if those of `to` are not contiguous, or if records of `from` overlap.
int turned_axis(const Rearrangement& task) {
  if (task.rank < 2 || task.axis[task.rank - 1].to != task.bytes) return -1;
  const Axis* const end = task.axis + task.rank;
  const Axis* const least = std::min_element(
      task.axis, end, [](const Axis& x, const Axis& y) { return x.from < y.from; });
  return least->from == task.bytes ? static_cast<int>(least - task.axis) : -1;
}

/// Returns whether both sides are matrices of whole records for cache_oblivious.
bool is_matrix(const Rearrangement& task) {
  const Axis &down = task.axis[1], &across = task.axis[0];  // of `from`
  return task.rank == 2 && task.bytes <= max_record_bytes && down.from % task.bytes == 0 &&
         across.to % task.bytes == 0 && down.from >= across.extent * task.bytes;
}

constexpr index_t grain_bytes = index_t{64} << 10;  // of a thread's piece

void move_record(index_t bytes, const std::byte* from, std::byte* to) {
  machine::parallel_for(0, bytes, grain_bytes, [&](index_t begin, index_t end) {
    std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
  });
}

/// Moves record by record; a thread takes pieces of the fastest axis of `to`.
void move_each(const Rearrangement& task, const std::byte* from, std::byte* to) {
  const Axis& inner = task.axis[task.rank - 1];
  const index_t most = std::max<index_t>(1, grain_bytes / task.bytes);
  const index_t pieces = ceil_div(inner.extent, most);
  const index_t lines = task.total() / (task.bytes * inner.extent);
  const index_t grain = std::max<index_t>(1, most / std::min(most, inner.extent));
  with_record(task.bytes, [&](const auto& copy) {
    machine::parallel_for(0, lines * pieces, grain, [&](index_t first, index_t last) {
      for (index_t number = first; number < last; ++number) {
        const index_t begin = number % pieces * most, end = std::min(begin + most, inner.extent);
        index_t rest = number / pieces, a = 0, b = 0;
        for (int k = task.rank - 2; k >= 0; rest /= task.axis[k--].extent) {
          a += rest % task.axis[k].extent * task.axis[k].from;
          b += rest % task.axis[k].extent * task.axis[k].to;
        }
        for (index_t i = begin; i < end; ++i)
          copy(to + b + i * inner.to, from + a + i * inner.from);
      }
    });
  });
}

}  // namespace

void move_strided(const Rearrangement& task, const std::byte* from, std::byte* to,
                  const Tuning& tuning) {
  if (task.total() == 0) return;
  const Rearrangement all = simplified(task);
  const int across = turned_axis(all);
  machine::parallel(threads_of(tuning), [&] {
    if (all.rank == 0) return move_record(all.bytes, from, to);
    if (across < 0) return move_each(all, from, to);
    if (is_matrix(all)) {
      const index_t rows = all.axis[1].extent, cols = all.axis[0].extent;
      return cache_oblivious({from, rows, cols, all.axis[1].from / all.bytes, all.bytes},
                             {to, cols, rows, all.axis[0].to / all.bytes, all.bytes}, tuning);
    }
    const bool stays = stays_in_cache(all.total(), 2 * all.total());
    rearrange(all, from, to, stays ? Store::cached : Store::streaming);
  });
}

}  // namespace tessera::inline v1::transpose
