// Axis permutations: merges axes, then transposes slices or boxes, or copies.

#include "kernels/transpose/permute.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.hpp"
#include "kernels/transpose/halves.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::transpose {
namespace {

void copy_parallel(std::byte* to, const std::byte* from, index_t bytes, Store store) {
  constexpr index_t grain = 1 << 20;
  const LeafSet& set = leaf_set(machine::isa());
  machine::parallel_for(0, bytes, grain, [&](index_t begin, index_t end) {
    if (store == Store::cached) {
      std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
      return;
    }
    set.stream(to + begin, from + begin, end - begin);
    set.fence();
  });
}

/// Returns the permutation with axes in the order of `to`.
Rearrangement rearrangement(const Merged& m) {
  Rearrangement task;
  task.rank = m.rank;
  task.bytes = m.bytes;
  index_t from[max_rank], stride = m.bytes;  // indexed by axis of `from`
  for (int k = m.rank - 1; k >= 0; --k) {
    from[k] = stride;
    stride *= m.shape[k];
  }
  stride = m.bytes;
  for (int k = m.rank - 1; k >= 0; --k) {
    task.axis[k] = {m.shape[m.axes[k]], from[m.axes[k]], stride};
    stride *= m.shape[m.axes[k]];
  }
  return task;
}

/// Returns the index of the fastest axis of `from`.
[[nodiscard]] int fast_from(const Rearrangement& task) {
  int found = 0;
  for (int k = 1; k < task.rank; ++k) found = task.axis[k].from < task.axis[found].from ? k : found;
  return found;
}

/// Returns whether the matrices along the fastest axes of both sides have runs long enough to be
/// transposed one by one.
[[nodiscard]] bool has_large_slices(const Rearrangement& task) {
  constexpr index_t long_side = 3 << 10;  // bytes
  return has_leaf(task.bytes) && task.axis[fast_from(task)].extent * task.bytes >= long_side &&
         task.axis[task.rank - 1].extent * task.bytes >= long_side;
}

void turn_slices(const Rearrangement& task, const std::byte* from, std::byte* to, int threads) {
  const int wide = fast_from(task), high = task.rank - 1;
  const Axis &across = task.axis[wide], &down = task.axis[high];
  const index_t slices = task.total() / (across.extent * down.extent * task.bytes);
  machine::parallel_for(0, slices, 1, [&](index_t number, index_t) {
    index_t a = 0, b = 0;
    for (int k = task.rank - 1; k >= 0; --k) {
      if (k == wide || k == high) continue;
      a += number % task.axis[k].extent * task.axis[k].from;
      b += number % task.axis[k].extent * task.axis[k].to;
      number /= task.axis[k].extent;
    }
    transpose_past_caches(
        {from + a, down.extent, across.extent, down.from / task.bytes, task.bytes},
        {to + b, across.extent, down.extent, across.to / task.bytes, task.bytes}, threads);
  });
}

}  // namespace

void require_permutation(std::span<const index_t> shape, std::span<const int> axes) {
  // Messages are formatted where they are thrown: plans execute this without allocating.
  const auto refuse = [](const char* argument, const std::string& problem) {
    throw Error::of_argument(argument, problem);
  };
  if (axes.size() != shape.size() || axes.size() > max_rank)
    refuse("axes", fmt::format("has {} elements: must be {}, as in the array, and at most {}",
                               axes.size(), shape.size(), max_rank));
  bool seen[max_rank] = {};
  for (const int axis : axes) {
    if (axis < 0 || axis >= static_cast<int>(axes.size()) || seen[axis])
      refuse("axes", fmt::format("is {{{}}}: must have each of 0 .. {} once", fmt::join(axes, ", "),
                                 axes.size() - 1));
    seen[axis] = true;
  }
  for (const index_t extent : shape)
    if (extent < 0) refuse("shape", fmt::format("has an extent of {}: must be at least 0", extent));
}

Merged merge(std::span<const index_t> shape, std::span<const int> axes, index_t bytes) {
  // Runs of axes that stay adjacent, in the order of `to`: first axis of `from` and length of each.
  Merged m;
  m.bytes = bytes;
  int first[max_rank] = {};
  index_t length[max_rank] = {};
  int runs = 0;
  int last = -2;
  for (const int axis : axes) {
    if (shape[static_cast<std::size_t>(axis)] == 1) continue;
    int expected = last + 1;
    while (expected < axis && expected > 0 && shape[static_cast<std::size_t>(expected)] == 1)
      ++expected;
    if (runs > 0 && axis == expected) {
      length[runs - 1] *= shape[static_cast<std::size_t>(axis)];
    } else {
      first[runs] = axis;
      length[runs++] = shape[static_cast<std::size_t>(axis)];
    }
    last = axis;
  }
  // The position of a run in `from` is the number of runs that begin before it.
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

void permute(std::span<const index_t> shape, std::span<const int> axes, index_t bytes,
             const std::byte* from, std::byte* to, const Tuning& tuning) {
  require_permutation(shape, axes);
  if (bytes < 1) throw Error::of_argument("bytes", fmt::format("is {}: must be at least 1", bytes));
  for (const index_t extent : shape) {
    if (extent == 0) return;
  }
  if (from == nullptr || to == nullptr || from == to)
    throw Error::of_argument("to", "must be separate from 'from', and neither may be null");
  const Merged m = merge(shape, axes, bytes);
  machine::parallel(threads_of(tuning), [&] {
    const Rearrangement task = rearrangement(m);
    const bool stays = stays_in_cache(task.total(), 2 * task.total());
    const Store store = stays ? Store::cached : Store::streaming;
    if (m.rank == 0) return copy_parallel(to, from, m.bytes, store);
    if (m.rank == 2) {
      cache_oblivious({from, m.shape[0], m.shape[1], m.shape[1], m.bytes},
                      {to, m.shape[1], m.shape[0], m.shape[0], m.bytes}, tuning);
      return;
    }
    if (!stays && has_large_slices(task)) return turn_slices(task, from, to, threads_of(tuning));
    rearrange(task, from, to, store);
  });
}

}  // namespace tessera::inline v1::transpose
