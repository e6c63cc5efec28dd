// The rows of the table of sort kernels: those of the CPU (host_sorts.hpp), then those of GPUs.

#include "kernels/sort/variants.hpp"

#include <string>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "kernels/joined.hpp"
#include "kernels/sort/cuda.hpp"
#include "kernels/sort/host_sorts.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::sort {
namespace {

template <class Sort>
Variant row(const HostSort<Sort>& x) {
  return {{x.name, Space::host, x.about}, x.widest_range, x.sort, x.sort, x.sort};
}

std::vector<Variant> make_table() {
  std::vector<Variant> table = std::apply(
      [](const auto&... sorts) { return std::vector<Variant>{row(sorts)...}; }, host_sorts);
  return joined(std::move(table), cuda_rows());
}

template <class Item>
void run(std::string_view variant, const Block<Item>& block) {
  if (variant == "auto") {
    automatic(block);
    return;
  }
  const Variant* row = find_variant(variants(), variant);
  if (row == nullptr) {
    std::vector<std::string> names{"auto"};
    for (const Variant& known : variants()) names.emplace_back(known.name);
    throw Error(ExitCode::usage,
                "unknown sort kernel '" + std::string(variant) + "'" + suggestion(variant, names));
  }
  if (row->widest_range != any_range) {
    require(survey(block).range() <= row->widest_range, ExitCode::usage,
            "range of the keys is too wide for " + std::string(row->name) +
                " (one counter per value); use radix or auto");
  }
  (*row)(block);
}

}  // namespace

std::span<const Variant> variants() {
  static const std::vector<Variant> table = make_table();
  return table;
}

const Variant* best_device() { return find_variant(variants(), "cuda_hybrid"); }

namespace {

/// Returns the keys as their unsigned representation; the kernels are compiled separately from all
/// accesses as T (strict aliasing).
template <class T>
Block<Bits<T>> block_of(std::span<T> keys, Order order) {
  return {.data = reinterpret_cast<Bits<T>*>(keys.data()),
          .n = static_cast<index_t>(keys.size()),
          .map = key_map<T>(order)};
}

constexpr index_t copy_grain = 1 << 16;  // keys that a task copies

/// Copies keys[0:n] to 32 bits, and back, on the threads of the enclosing parallel region.
template <SmallKey T>
void widen(std::span<const T> keys, ComparedAs<T>* wide) {
  const auto n = static_cast<index_t>(keys.size());
  machine::parallel_for(0, n, copy_grain, [&](index_t begin, index_t end) {
    for (index_t i = begin; i < end; ++i) wide[i] = widened(keys[static_cast<std::size_t>(i)]);
  });
}
template <SmallKey T>
void narrow(const ComparedAs<T>* wide, std::span<T> keys) {
  const auto n = static_cast<index_t>(keys.size());
  machine::parallel_for(0, n, copy_grain, [&](index_t begin, index_t end) {
    for (index_t i = begin; i < end; ++i) keys[static_cast<std::size_t>(i)] = narrowed<T>(wide[i]);
  });
}

template <SmallKey T>
void sort_small(std::string_view variant, std::span<T> keys, Order order, const Tuning& tuning) {
  const auto n = static_cast<index_t>(keys.size());
  machine::Buffer<ComparedAs<T>> wide(n), scratch(n);
  widen(std::span<const T>(keys), wide.data());
  sort_keys(variant, wide.span(), scratch.span(), order, tuning);
  narrow(wide.data(), keys);
}

}  // namespace

template <class T>
void sort_keys(std::string_view variant, std::span<T> keys, std::span<T> scratch, Order order,
               const Tuning& tuning, const Done& done) {
  TESSERA_EXPECTS(keys.size() == scratch.size());
  if constexpr (SmallKey<T>) {
    sort_small(variant, keys, order, tuning);
  } else {
    auto block = block_of(keys, order);
    block.scratch = reinterpret_cast<Bits<T>*>(scratch.data());
    block.device_memory = tuning.device_memory;
    block.done = done ? &done : nullptr;
    run(variant, block);
  }
}

template <class T>
bool sort_ordered(std::span<T> keys, int threads, Order order, const Done& done) {
  auto block = block_of(keys, order);
  block.done = done ? &done : nullptr;
  return sort_ordered(block, threads);
}

template <class T>
void sort_keys(std::string_view variant, std::span<T> keys, int threads, Order order) {
  if constexpr (SmallKey<T>) {
    machine::parallel(threads, [&] { sort_small(variant, keys, order, {}); });
  } else {
    if (variant == "auto" && sort_ordered(keys, threads, order)) return;
    machine::parallel(threads, [&] {
      machine::Buffer<T> scratch(static_cast<index_t>(keys.size()));
      sort_keys(variant, keys, scratch.span(), order);
    });
  }
}

template <class T>
index_t workspace_bytes(index_t n, int threads) {
  using Compared = ComparedAs<T>;
  const index_t copies = SmallKey<T> ? 2 : 1;
  return copies * n * index_t{sizeof(Compared)} + automatic_workspace<Bits<Compared>>(n, threads);
}

void sort_pairs(std::string_view variant, std::span<Pair> pairs, std::span<Pair> scratch,
                const Tuning& tuning) {
  TESSERA_EXPECTS(pairs.size() == scratch.size());
  run(variant, Block<Pair>{pairs.data(),
                           scratch.data(),
                           static_cast<index_t>(pairs.size()),
                           {},
                           tuning.device_memory});
}

void sort_pairs(std::string_view variant, std::span<Pair> pairs, int threads) {
  const Block<Pair> block{.data = pairs.data(), .n = static_cast<index_t>(pairs.size())};
  if (variant == "auto" && sort_ordered(block, threads)) return;
  machine::parallel(threads, [&] {
    machine::Buffer<Pair> scratch(block.n);
    sort_pairs(variant, pairs, scratch.span());
  });
}

#define TESSERA_SORT_INSTANTIATE_KEYS(T)                                                      \
  template void sort_keys(std::string_view, std::span<T>, std::span<T>, Order, const Tuning&, \
                          const Done&);                                                       \
  template void sort_keys(std::string_view, std::span<T>, int, Order);                        \
  template index_t workspace_bytes<T>(index_t, int);                                          \
  template bool sort_ordered(std::span<T>, int, Order, const Done&)
TESSERA_SORT_INSTANTIATE_KEYS(std::int32_t);
TESSERA_SORT_INSTANTIATE_KEYS(std::int64_t);
TESSERA_SORT_INSTANTIATE_KEYS(std::uint32_t);
TESSERA_SORT_INSTANTIATE_KEYS(std::uint64_t);
TESSERA_SORT_INSTANTIATE_KEYS(float);
TESSERA_SORT_INSTANTIATE_KEYS(double);
#undef TESSERA_SORT_INSTANTIATE_KEYS

#define TESSERA_SORT_INSTANTIATE_SMALL(T)                                                     \
  template void sort_keys(std::string_view, std::span<T>, std::span<T>, Order, const Tuning&, \
                          const Done&);                                                       \
  template void sort_keys(std::string_view, std::span<T>, int, Order);                        \
  template index_t workspace_bytes<T>(index_t, int)
TESSERA_SORT_INSTANTIATE_SMALL(std::int8_t);
TESSERA_SORT_INSTANTIATE_SMALL(std::int16_t);
TESSERA_SORT_INSTANTIATE_SMALL(std::uint8_t);
TESSERA_SORT_INSTANTIATE_SMALL(std::uint16_t);
TESSERA_SORT_INSTANTIATE_SMALL(Half);

}  // namespace tessera::inline v1::sort
