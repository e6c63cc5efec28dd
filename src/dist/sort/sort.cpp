// Checks of a sort, maps of keys to ordered bits, and dispatch to its algorithm.

#include "dist/sort/sort.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "base/progress.hpp"
#include "dist/sort/algorithms.hpp"
#include "kernels/sort/variants.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"
#include "mpi/agreement.hpp"
#include "mpi/exchange.hpp"

namespace tessera::inline v1::dist::sort {
namespace {

namespace kernels = tessera::sort;

constexpr index_t map_grain = 1 << 18;  // keys mapped by one task

template <class Item>
index_t run(const mpi::Communicator& comm, const Room<Item>& room, const Method& method,
            mpi::Phases& phases) {
  switch (method.algorithm) {
    case Algorithm::samplesort:
      return samplesort(comm, room, method, phases);
    case Algorithm::rounds:
      return rounds(comm, room, method, phases);
    case Algorithm::exact:
      break;
  }
  return exact(comm, room, method, phases);
}

template <class Item>
void check(const Room<Item>& room, const Method& method) {
  require_argument(room.n >= 0, "room.n", fmt::format("is {}: must be at least 0", room.n));
  require_argument(
      room.n == 0 || (room.items != nullptr && room.spare != nullptr && room.items != room.spare),
      "room.spare", "must be separate from room.items, and neither may be null");
  require_argument(method.threads >= 1, "method.threads",
                   fmt::format("is {}: must be at least 1", method.threads));
  require_argument(
      method.kernel == "auto" || find_variant(kernels::variants(), method.kernel) != nullptr,
      "method.kernel",
      fmt::format("is '{}', which is not a sort kernel; use auto or a row of "
                  "sort::variants()",
                  method.kernel));
}

/// Calls f(i) for i in [0, n).
template <class F>
void each(index_t n, int threads, const F& f) {
  machine::parallel(threads, [&] {
    machine::parallel_for(0, n, map_grain, [&](index_t begin, index_t end) {
      for (index_t i = begin; i < end; ++i) f(i);
    });
  });
}
template <class B, class F>
void map_all(B* bits, index_t n, int threads, const F& map) {
  each(n, threads, [&](index_t i) { bits[i] = map(bits[i]); });
}

}  // namespace

const std::vector<AlgorithmInfo>& algorithms() {
  static const std::vector<AlgorithmInfo> table{
      {"exact", Algorithm::exact, "exact splitters by counting, one exchange, merge"},
      {"samplesort", Algorithm::samplesort,
       "regular sampling, then even shares (PSRS, Shi and Schaeffer 1992)"},
      {"rounds", Algorithm::rounds, "as exact, in rounds with work space for 1/8 of the keys"}};
  return table;
}

index_t Counts::received() const { return std::accumulate(from.begin(), from.end(), index_t{0}); }

Counts counts_of(const mpi::Communicator& comm, const std::vector<index_t>& cuts) {
  Counts counts;
  for (std::size_t r = 0; r + 1 < cuts.size(); ++r) counts.to.push_back(cuts[r + 1] - cuts[r]);
  counts.from = comm.all_to_all(counts.to);
  return counts;
}

std::vector<index_t> cuts_of_shares(const mpi::Communicator& comm, index_t n) {
  index_t before = n;
  comm.sum_before(std::span(&before, 1));
  const layout::BlockMap shares(comm.sum(n), comm.size());
  std::vector<index_t> cuts = shares.offsets();
  for (index_t& cut : cuts) cut = std::clamp<index_t>(cut - before, 0, n);
  return cuts;
}

std::vector<std::byte> in_even_shares(const mpi::Communicator& comm,
                                      const std::vector<std::byte>& mine, index_t element_bytes) {
  const auto n = static_cast<index_t>(mine.size()) / element_bytes;
  Counts counts = counts_of(comm, cuts_of_shares(comm, n));
  std::vector<std::byte> result(static_cast<std::size_t>(counts.received() * element_bytes));
  for (auto* list : {&counts.to, &counts.from}) {
    for (index_t& count : *list) count *= element_bytes;
  }
  mpi::exchange(comm, mine, counts.to, result, counts.from);
  return result;
}

/// Runs a host kernel on the method's team; a device kernel on this thread, which owns the device,
/// and adds its phases.
template <class Run>
void run_kernel(const Method& method, mpi::Phases& phases, const Run& run) {
  const mpi::Computing computing;
  const kernels::Variant* const row = find_variant(kernels::variants(), method.kernel);
  if (row == nullptr || row->space == Space::host) {
    machine::parallel(method.threads, run);
    return;
  }
  const machine::DefaultThreads scope(method.threads);
  run();
  mpi::add_device_phases(phases);
}

/// Returns whether `auto` finished, since the keys are in order, before a team is started.
template <class T>
bool finds_order(std::span<T> keys, Order order, const Method& method, const Done& done = {}) {
  const mpi::Computing computing;
  return method.kernel == "auto" && kernels::sort_ordered(keys, method.threads, order, done);
}

Progress progress_of(const char* step, index_t keys, double parts, index_t ranks) {
  const double digits = std::log2(std::max(1.0, parts));
  return {step,
          static_cast<double>(keys) * digits,
          Progress::Counts::placed,
          {static_cast<double>(keys * ranks) / 1e6, "Mkeys"}};
}

template <class Item>
void sort_locally(const mpi::Communicator& comm, const Room<Item>& room, const Method& method,
                  mpi::Phases& phases) {
  const mpi::PhaseScope scope(phases, "sort");
  const Progress progress = progress_of("sort", room.n, static_cast<double>(room.n), comm.size());
  const auto n = static_cast<std::size_t>(room.n);
  mpi::together(comm, "sort", [&] {
    if constexpr (!std::is_same_v<Item, Pair>) {
      if (finds_order(std::span(room.items, n), Order::ascending, method)) return;
    }
    run_kernel(method, phases, [&] {
      if constexpr (std::is_same_v<Item, Pair>)
        kernels::sort_pairs(method.kernel, std::span(room.items, n), std::span(room.spare, n),
                            method.tuning);
      else
        kernels::sort_keys(method.kernel, std::span(room.items, n), std::span(room.spare, n),
                           Order::ascending, method.tuning);
    });
  });
}

template <class Item>
void merge_received(const Counts& counts, const Item* from, Item* to, const Method& method,
                    mpi::Phases& phases) {
  const mpi::PhaseScope scope(phases, "merge");
  std::vector<Run<Item>> runs;
  for (const index_t count : counts.from) {
    runs.push_back({from, count});
    from += count;
  }
  const auto ranks = static_cast<index_t>(runs.size());
  const Progress progress =
      progress_of("merge", counts.received(), static_cast<double>(ranks), ranks);
  const mpi::Computing computing;
  machine::parallel(method.threads, [&] { kernels::merge_runs<Item>(runs, to); });
}

/// Sorts keys of less than 32 bits in copies.
template <kernels::SmallKey T>
index_t sort_small(const mpi::Communicator& comm, const Room<T>& room, Order order,
                   const Method& method, mpi::Phases& phases) {
  using Wide = kernels::ComparedAs<T>;
  const index_t share = layout::BlockMap(comm.sum(room.n), comm.size()).size(comm.rank());
  machine::Buffer<Wide> keys, spare;
  mpi::together(comm, "sort", [&] {
    keys = machine::Buffer<Wide>(std::max(room.n, share));
    spare = machine::Buffer<Wide>(keys.size());
  });
  each(room.n, method.threads, [&](index_t i) { keys[i] = kernels::widened(room.items[i]); });
  const Room<Wide> wide{keys.data(), spare.data(), room.n};
  const index_t n = sort_keys(comm, wide, order, method, phases);
  each(n, method.threads, [&](index_t i) { room.items[i] = kernels::narrowed<T>(keys[i]); });
  return n;
}

template <class T>
index_t sort_as_bits(const mpi::Communicator& comm, const Room<T>& room, Order order,
                     const Method& method, mpi::Phases& phases) {
  using B = kernels::Bits<T>;
  const Room<B> bits{reinterpret_cast<B*>(room.items), reinterpret_cast<B*>(room.spare), room.n};
  const auto map = kernels::key_map<T>(order);
  if (map.identity()) return run(comm, bits, method, phases);
  {
    const mpi::PhaseScope scope(phases, "sort");
    map_all(bits.items, bits.n, method.threads, [map](B raw) { return map.to_bits(raw); });
  }
  const index_t n = run(comm, bits, method, phases);
  const mpi::PhaseScope scope(phases, "merge");
  map_all(bits.items, n, method.threads, [map](B one) { return map.to_raw(one); });
  return n;
}

template <class T>
index_t sort_keys(const mpi::Communicator& comm, const Room<T>& room, Order order,
                  const Method& method, mpi::Phases& phases, const Done& done) {
  check(room, method);
  if constexpr (kernels::SmallKey<T>) {
    return sort_small(comm, room, order, method, phases);
  } else {
    if (comm.size() > 1 || method.algorithm == Algorithm::rounds)
      return sort_as_bits(comm, room, order, method, phases);
    const mpi::PhaseScope scope(phases, "sort");
    const Progress progress = progress_of("sort", room.n, static_cast<double>(room.n), 1);
    const auto n = static_cast<std::size_t>(room.n);
    mpi::together(comm, "sort", [&] {
      if (finds_order(std::span(room.items, n), order, method, done)) return;
      run_kernel(method, phases, [&] {
        kernels::sort_keys(method.kernel, std::span(room.items, n), std::span(room.spare, n), order,
                           method.tuning, done);
      });
    });
    return room.n;
  }
}

index_t sort_pairs(const mpi::Communicator& comm, const Room<Pair>& room, const Method& method,
                   mpi::Phases& phases) {
  check(room, method);
  return run(comm, room, method, phases);
}

#define INSTANTIATE(T)                                                                       \
  template index_t sort_keys(const mpi::Communicator&, const Room<T>&, Order, const Method&, \
                             mpi::Phases&, const Done&)
TESSERA_FOR_KEY_TYPES(INSTANTIATE)
TESSERA_FOR_SMALL_KEY_TYPES(INSTANTIATE)
#undef INSTANTIATE

#define INSTANTIATE(Item)                                                                \
  template void sort_locally(const mpi::Communicator&, const Room<Item>&, const Method&, \
                             mpi::Phases&);                                              \
  template void merge_received(const Counts&, const Item*, Item*, const Method&, mpi::Phases&)
INSTANTIATE(std::uint32_t);
INSTANTIATE(std::uint64_t);
INSTANTIATE(Pair);
#undef INSTANTIATE

}  // namespace tessera::inline v1::dist::sort
