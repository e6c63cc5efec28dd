// Sort kernels and the sorting probes of forkjoin on traced keys.

#include <algorithm>

#include "base/hash.hpp"
#include "kernels/forkjoin/mergesort.hpp"
#include "kernels/forkjoin/quicksort.hpp"
#include "kernels/sort/cache_oblivious.hpp"
#include "kernels/sort/counting.hpp"
#include "kernels/sort/counting_pairs.hpp"
#include "kernels/sort/mergesort.hpp"
#include "kernels/sort/quicksort.hpp"
#include "kernels/sort/radix.hpp"
#include "kernels/sort/samplesort.hpp"
#include "kernels/sort/standard.hpp"
#include "lab/locality/kernels.hpp"
#include "lab/locality/traced.hpp"

namespace tessera::sort {

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

}  // namespace tessera::sort

namespace tessera::locality {
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
            "the traced kernel " + p.kernel + " sorted wrongly");
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
template <class Kernel>
Problem run_any(Tracer& tracer, const Problem& p, const Kernel& kernel) {
  if (p.element_bytes != 16) return run_keys(tracer, p, kernel);
  run_as<Pair>(tracer, p, kernel);
  return p;
}

/// Throws Error(usage) for key ranges too large for one counter per key.
void check_counted(const Problem& p) {
  require(p.n == 0 || p.range <= index_t{1} << 28, ExitCode::usage,
          "--range is at most 2^28 for traced counting sorts");
}
Problem counted(const Problem& problem) {
  check_counted(problem);
  Problem p = problem;
  if (p.range == 0) p.range = index_t{1} << 16;
  return p;
}

Problem counting(Tracer& tracer, const Problem& problem) {
  return run_any(tracer, counted(problem), [](const auto& block) { sort::counting(block); });
}

void check_bucketed(const Problem& p) {
  require(p.element_bytes == 16, ExitCode::usage,
          "counting_bucketed is traced on pairs (--type pair); keys alone go through vector "
          "kernels that are "
          "not");
  check_counted(p);
}
Problem counting_bucketed(Tracer& tracer, const Problem& problem) {
  check_bucketed(problem);
  const Problem p = counted(problem);
  run_as<Pair>(tracer, p, [](const Block<Traced<Pair>>& block) {
    if (block.n < 2) return;
    const sort::Survey seen = sort::survey(block);
    sort::count_pairs(block, seen.min, seen.range());
  });
  return p;
}

#define TESSERA_TRACED_SORT(name)                                            \
  Problem name(Tracer& tracer, const Problem& p) {                           \
    return run_any(tracer, p, [](const auto& block) { sort::name(block); }); \
  }
TESSERA_TRACED_SORT(standard)
TESSERA_TRACED_SORT(quicksort)
TESSERA_TRACED_SORT(mergesort)
TESSERA_TRACED_SORT(samplesort)
TESSERA_TRACED_SORT(cache_oblivious)
#undef TESSERA_TRACED_SORT

void check_radix(const Problem& p) {
  require(p.element_bytes < 16, ExitCode::usage, "radix is traced on keys, not on pairs");
}
Problem radix(Tracer& tracer, const Problem& p) {
  check_radix(p);
  return run_keys(tracer, p, [](const auto& block) { sort::radix(block); });
}

// The probes fork down to the threshold, here --tile; on one thread both sides run in turn.
constexpr index_t threshold = 4096;

void check_probe(const Problem& p) {
  require(p.element_bytes < 16, ExitCode::usage, "the probes of forkjoin sort keys, not pairs");
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
  return {{"sort", "std", "scalar", standard},
          {"sort", "counting", "scalar", counting, check_counted},
          {"sort", "counting_bucketed", "scalar", counting_bucketed, check_bucketed},
          {"sort", "quicksort", "scalar", quicksort},
          {"sort", "mergesort", "scalar", mergesort},
          {"sort", "samplesort", "scalar", samplesort},
          {"sort", "radix", "scalar", radix, check_radix},
          {"sort", "cache_oblivious", "scalar", cache_oblivious},
          {"forkjoin", "quicksort", "scalar", probe_quicksort, check_probe},
          {"forkjoin", "mergesort_serial_merge", "scalar", probe_mergesort<forkjoin::Merge::serial>,
           check_probe},
          {"forkjoin", "mergesort_parallel_merge", "scalar",
           probe_mergesort<forkjoin::Merge::forked>, check_probe}};
}

}  // namespace tessera::locality
