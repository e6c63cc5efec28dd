// Gather and grouping of rows with software prefetch of sources and destinations.

#include "kernels/sort/row_moves.hpp"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "kernels/sort/common.hpp"
#include "kernels/sort/copy_row.hpp"

namespace tessera::inline v1::sort {
namespace {

/// Calls f(bytes) with a compile-time constant for common row sizes.
template <class F>
void with_size(index_t bytes, const F& f) {
  switch (bytes) {
    case 0:
      return;
    case 4:
      return f(std::integral_constant<index_t, 4>{});
    case 8:
      return f(std::integral_constant<index_t, 8>{});
    case 16:
      return f(std::integral_constant<index_t, 16>{});
    default:
      return f(bytes);
  }
}
template <class Size>
[[gnu::always_inline]] inline void copy_one(const std::byte* from, std::byte* to, Size bytes) {
  if constexpr (std::is_same_v<Size, index_t>)
    copy_row(from, to, bytes);
  else
    std::memcpy(to, from, Size::value);
}

constexpr index_t line = 64;

constexpr index_t longest_short = 48;  // bytes

/// Returns the prefetch distance in rows, enough to hide the memory latency.
constexpr index_t read_ahead(index_t bytes) { return bytes > 16 ? 32 : 96; }
/// Prefetches all lines of a row, those of a short one into the second level, which can have more
/// misses in flight than the first. Ns per row of 4, 8, 16, 24, 40 bytes in 0.13 GB, none (24 and
/// 40: first level) and second: 21, 23, 21, 24, 26 -> 16, 16, 17, 20, 22; of 64 bytes there is no
/// difference, 100 are slower by a third (Emerald Rapids).
[[gnu::always_inline]] inline void will_read(const std::byte* row, index_t bytes) {
  if (bytes <= longest_short) {
    __builtin_prefetch(row, 0, 2);
    if (bytes > 16) __builtin_prefetch(row + bytes - 1, 0, 2);
    return;
  }
  for (index_t b = 0; b < bytes; b += line) __builtin_prefetch(row + b);
  __builtin_prefetch(row + bytes - 1);
}
/// Prefetches the lines after the next row into the second level: otherwise stores wait for each
/// new line of a bucket. Ns per row by 419 buckets, of 16, 40 and 100 bytes, in 20 MB 5.5, 9.6,
/// 16.3 -> 3.0, 5.0, 9.4, in 0.3 GB 13.8, 25, 44 -> 4.2, 7.8, 17 (Emerald Rapids).
template <class Size>
[[gnu::always_inline]] inline void will_write(const std::byte* row, Size bytes) {
  for (index_t b = 0; b < bytes; b += line) __builtin_prefetch(row + bytes + line + b, 1, 2);
}

}  // namespace

void gather_rows(const std::byte* from, index_t bytes, std::span<const std::uint64_t> places,
                 std::byte* to) {
  with_size(bytes, [&](auto size) {
    const auto n = static_cast<index_t>(places.size());
    const auto row = [&](index_t j) {
      return from + static_cast<index_t>(places[static_cast<std::size_t>(j)]) * size;
    };
    const index_t ahead = read_ahead(size);
    index_t j = 0;
    for (; j + ahead < n; ++j, to += size) {
      will_read(row(j + ahead), size);
      copy_one(row(j), to, size);
    }
    for (; j < n; ++j, to += size) copy_one(row(j), to, size);
  });
}

void will_gather(const std::byte* from, index_t bytes, std::span<const std::uint64_t> places) {
  if (bytes == 0) return;
  for (const std::uint64_t place :
       places.first(std::min(places.size(), static_cast<std::size_t>(read_ahead(bytes)))))
    will_read(from + static_cast<index_t>(place) * bytes, bytes);
}

index_t count_differing(std::span<const MovedColumn> columns, std::span<const std::uint64_t> places,
                        index_t first) {
  index_t wrong = 0;
  for (const MovedColumn& column : columns) {
    const std::byte* to = column.to + first * column.bytes;
    for (const std::uint64_t place : places) {
      const std::byte* const from = column.from + static_cast<index_t>(place) * column.bytes;
      if (!std::equal(to, to + column.bytes, from)) ++wrong;
      to += column.bytes;
    }
  }
  return wrong;
}

void group_rows(std::span<const std::uint16_t> group, std::span<const MovedColumn> columns,
                std::span<index_t> begin) {
  const auto n = static_cast<index_t>(group.size());
  const std::size_t buckets = begin.size() - 1;
  const index_t tasks = team() == 1 ? 1 : std::clamp<index_t>(n / task_grain, 1, 2 * team());
  const index_t length = ceil_div(std::max<index_t>(n, 1), tasks);
  const auto part = [=](index_t t) {
    return group.subspan(static_cast<std::size_t>(std::min(n, t * length)),
                         static_cast<std::size_t>(std::min(length, n - std::min(n, t * length))));
  };
  std::vector<index_t> place(static_cast<std::size_t>(tasks) * buckets, 0);
  const auto of_task = [&](index_t t) {
    return place.data() + static_cast<std::size_t>(t) * buckets;
  };
  machine::parallel_for(0, tasks, 1, [&](index_t t, index_t) {
    for (const std::uint16_t bucket : part(t)) ++of_task(t)[bucket];
  });
  index_t sum = 0;
  for (std::size_t b = 0; b < buckets; ++b) {
    begin[b] = sum;
    for (index_t t = 0; t < tasks; ++t) sum += std::exchange(of_task(t)[b], sum);
  }
  begin[buckets] = sum;
  machine::parallel_for(0, tasks, 1, [&](index_t t, index_t) {
    std::vector<std::byte*> next(buckets);
    for (const MovedColumn& column : columns) {
      for (std::size_t b = 0; b < buckets; ++b) next[b] = column.to + of_task(t)[b] * column.bytes;
      with_size(column.bytes, [&](auto size) {
        const std::byte* from = column.from + std::min(n, t * length) * size;
        for (const std::uint16_t bucket : part(t)) {
          will_write(next[bucket], size);
          copy_one(from, next[bucket], size);
          from += size;
          next[bucket] += size;
        }
      });
    }
  });
}

}  // namespace tessera::inline v1::sort
