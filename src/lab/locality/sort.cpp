// Sort kernels and the sorting probes of forkjoin on traced keys.

#include <fmt/core.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/hash.hpp"
#include "kernels/forkjoin/mergesort.hpp"
#include "kernels/forkjoin/quicksort.hpp"
#include "kernels/sort/counting.hpp"
#include "kernels/sort/counting_pairs.hpp"
#include "kernels/sort/host_sorts.hpp"
#include "kernels/sort/radix.hpp"
#include "lab/locality/kernels.hpp"
#include "lab/locality/traced_stages.hpp"

namespace tessera::inline v1::sort {

template <>
const LeafKernels<locality::Traced<std::uint32_t>>& leaf_kernels();
template <>
const LeafKernels<locality::Traced<std::uint64_t>>& leaf_kernels();

/// Returns the key of a traced pair, half of its bytes.
[[nodiscard]] inline std::uint64_t key_of(const locality::Traced<Pair>& item) {
  locality::report(locality::Access::Kind::load, &item, sizeof(std::uint64_t));
  return item.raw().key;
}

#define TESSERA_SURVEY(Item)                                  \
  template <>                                                 \
  Survey survey(const Block<locality::Traced<Item>>& block) { \
    return look_plainly(block, 0, block.n);                   \
  }
TESSERA_SURVEY(std::uint32_t)
TESSERA_SURVEY(std::uint64_t)
TESSERA_SURVEY(Pair)
#undef TESSERA_SURVEY

template <>
void counting_bucketed(const Block<locality::Traced<Pair>>& block) {
  if (block.n < 2) return;
  Stages<locality::Traced<Pair>>::enter("preprocessing");
  const Survey seen = survey(block);
  count_pairs(block, seen.min, seen.range());
}

namespace {

/// The walk of counting_bucketed over keys, without vectors: buckets of adjacent keys, one if there
/// are few possible keys, each counted in counters within a cache and written from them.
template <class Key>
void count_keys(const Block<locality::Traced<Key>>& block) {
  using Item = locality::Traced<Key>;
  if (block.n < 2) return;
  Stages<Item>::enter("preprocessing");
  const Survey seen = survey(block);
  const auto range = static_cast<index_t>(seen.range());
  const index_t buckets =
      seen.range() < one_pass_range
          ? 1
          : std::clamp<index_t>(range / aimed_slots + 1, 4 * team(), most_counted_buckets);
  const index_t slots = ceil_div(range + 1, buckets);
  const auto slot = [&](const Item& key) {
    return static_cast<index_t>(block.map.to_bits(key_of(key)) - seen.min);
  };
  machine::Buffer<Like<Item, index_t>> begin(buckets + 1);
  begin[0] = 0;
  begin[buckets] = block.n;
  if (buckets > 1)
    distribute(
        block.data, block.scratch, block.n, buckets, begin.data(),
        [&](const Item& key) { return slot(key) / slots; },
        [](const Item& key) -> const Item& { return key; });
  const Item* const from = buckets > 1 ? block.scratch : block.data;
  Stages<Item>::enter("sorting");
  machine::Buffer<Like<Item, std::uint32_t>> counts(slots);
  Item* to = block.data;
  for (index_t b = 0; b < buckets; ++b) {
    std::fill(counts.begin(), counts.end(), 0u);
    const index_t end = begin[b + 1];
    for (index_t i = begin[b]; i < end; ++i) ++counts[slot(from[i]) - b * slots];
    for (index_t s = 0; s < slots; ++s) {
      const auto key = static_cast<Key>(seen.min + static_cast<std::uint64_t>(b * slots + s));
      for (std::uint32_t left = counts[s]; left > 0; --left) *to++ = block.map.to_raw(key);
    }
  }
}

}  // namespace

template <>
void counting_bucketed(const Block<locality::Traced<std::uint32_t>>& block) {
  count_keys(block);
}
template <>
void counting_bucketed(const Block<locality::Traced<std::uint64_t>>& block) {
  count_keys(block);
}

}  // namespace tessera::inline v1::sort

namespace tessera::inline v1::locality {
namespace {

using sort::Block;
using sort::Pair;

template <class Item>
void set_key(Item& item, std::uint64_t key, index_t position) {
  if constexpr (std::is_same_v<Item, Pair>) {
    item = {key, static_cast<std::uint64_t>(position)};
  } else {
    item = static_cast<Item>(key);
  }
}

/// Sorts random keys of [0, range), or of all bits, in traced memory with a scratch array.
template <class Item, class Kernel>
void run_as(Tracer& tracer, const Problem& p, const Kernel& kernel) {
  Traced<Item>* const data = tracer.array<Item>("data", p.n);
  Traced<Item>* const scratch = tracer.array<Item>("scratch", p.n);
  std::vector<Item> want(static_cast<std::size_t>(p.n));
  for (index_t i = 0; i < p.n; ++i) {
    const std::uint64_t random = hash_at(p.seed, static_cast<std::uint64_t>(i));
    const std::uint64_t key = p.range > 0 ? random % static_cast<std::uint64_t>(p.range) : random;
    set_key(data[i].raw(), key, i);
    want[static_cast<std::size_t>(i)] = data[i].raw();
  }
  const machine::DefaultThreads alone(1);
  tracer.run([&] { kernel(Block<Traced<Item>>{data, scratch, p.n, {}}); });
  std::stable_sort(want.begin(), want.end());
  for (index_t i = 0; i < p.n; ++i) {
    require(data[i].raw() == want[static_cast<std::size_t>(i)], ExitCode::internal,
            "the traced kernel " + p.kernel + " computed a wrong order");
  }
}

template <class Kernel>
Problem run_keys(Tracer& tracer, const Problem& p, const Kernel& kernel) {
  if (p.element_bytes == 4) {
    run_as<std::uint32_t>(tracer, p, kernel);
  } else {
    run_as<std::uint64_t>(tracer, p, kernel);
  }
  return p;
}

/// Throws Error(usage) for key ranges too large for one counter per key.
void check_counted(const Problem& p) {
  require(p.n == 0 || p.range <= index_t{1} << 28, ExitCode::usage,
          "--range exceeds 2^28, the limit of traced counting sorts");
}
Problem counted(const Problem& problem) {
  Problem p = problem;
  if (p.range == 0) p.range = index_t{1} << 16;
  return p;
}

/// The sort number i of the table on traced items.
template <std::size_t i>
struct TracedSort {
  static constexpr const auto& row = std::get<i>(sort::host_sorts);
  static constexpr bool counts = row.widest_range != sort::any_range;

  static void check(const Problem& p) {
    require(row.traces != sort::Traces::keys || p.element_bytes < 16, ExitCode::usage,
            fmt::format("{} is traced on keys only; use --type u32 or u64", row.name));
    if (counts) check_counted(p);
  }
  static Problem run(Tracer& tracer, const Problem& problem) {
    check(problem);
    const Problem p = counts ? counted(problem) : problem;
    if (p.element_bytes < 16) {
      run_keys(tracer, p, row.sort);
    } else {
      if constexpr (row.traces != sort::Traces::keys) run_as<Pair>(tracer, p, row.sort);
    }
    return p;
  }
};

// The probes fork down to the threshold, here --tile; on one thread both sides run in turn.
constexpr index_t threshold = 4096;

void check_probe(const Problem& p) {
  require(p.element_bytes < 16, ExitCode::usage,
          "forkjoin probes sort keys only; use --type u32 or u64");
}
Problem probe(const Problem& problem) {
  check_probe(problem);
  Problem p = problem;
  if (p.tile == 0) p.tile = threshold;
  return p;
}

template <forkjoin::Merge merge>
Problem probe_mergesort(Tracer& tracer, const Problem& problem) {
  const Problem p = probe(problem);
  return run_keys(tracer, p, [&](const auto& block) {
    forkjoin::mergesort_forked(block.data, block.scratch, block.n, block.data, {p.tile, merge});
  });
}

Problem probe_quicksort(Tracer& tracer, const Problem& problem) {
  const Problem p = probe(problem);
  return run_keys(tracer, p, [&](const auto& block) {
    forkjoin::quicksort_forked(block.data, block.n, p.tile);
  });
}

}  // namespace

std::vector<TracedKernel> sort_kernels() {
  constexpr std::size_t sorts = std::tuple_size_v<decltype(sort::host_sorts)>;
  std::vector<TracedKernel> all = [&]<std::size_t... i>(std::index_sequence<i...>) {
    return std::vector<TracedKernel>{{"sort", TracedSort<i>::row.name, "scalar", TracedSort<i>::run,
                                      TracedSort<i>::check, TracedSort<i>::counts}...};
  }
  (std::make_index_sequence<sorts>());
  all.push_back({"forkjoin", "quicksort", "scalar", probe_quicksort, check_probe});
  all.push_back({"forkjoin", "mergesort_serial_merge", "scalar",
                 probe_mergesort<forkjoin::Merge::serial>, check_probe});
  all.push_back({"forkjoin", "mergesort_parallel_merge", "scalar",
                 probe_mergesort<forkjoin::Merge::forked>, check_probe});
  return all;
}

}  // namespace tessera::inline v1::locality
