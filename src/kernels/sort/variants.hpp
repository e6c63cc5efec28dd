#pragma once
// The table of sorts, and the entry point: sort_keys maps a key type to bits and calls a row.

#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/sort/key.hpp"
#include "kernels/sort/survey.hpp"
#include "kernels/variant.hpp"

namespace tessera::inline v1::sort {

struct Variant : VariantInfo {
  std::uint64_t widest_range;  ///< of max - min in bits; all ones if any keys are supported
  void (*keys32)(const Block<std::uint32_t>&);
  void (*keys64)(const Block<std::uint64_t>&);
  void (*pairs)(const Block<Pair>&);

  void operator()(const Block<std::uint32_t>& block) const { keys32(block); }
  void operator()(const Block<std::uint64_t>& block) const { keys64(block); }
  void operator()(const Block<Pair>& block) const { pairs(block); }
};

/// Returns the rows; the first is the reference. `auto` is not a row: see automatic().
[[nodiscard]] std::span<const Variant> variants();

/// Returns the fastest variant on a device; nullptr in a build without CUDA.
[[nodiscard]] const Variant* best_device();

/// The plans of `auto` for an input that is neither in order nor reversed.
enum class Plan { merge_runs, displaced, counting_bucketed, radix };
[[nodiscard]] std::string_view name(Plan plan);
[[nodiscard]] Plan choose(const Survey& seen, index_t n);

/// Samples the input; if promising, surveys all of it in one pass; sorts it by the best plan.
template <class Item>
void automatic(const Block<Item>& block);
/// Sorts keys likewise, as far as possible without scratch memory; returns false if it is needed.
template <class B>
[[nodiscard]] bool automatic_in_place(const Block<B>& block);

/// Returns the bytes of a machine::Workspace from which automatic() allocates all on a team.
template <class Item>
[[nodiscard]] index_t automatic_workspace(index_t n, int threads);

/// Sorts keys that are in order or reversed or, from some megabytes on, nearly in order, outside of
/// any parallel region; returns false for others, which are mostly detected at once. Uses no
/// scratch memory, and starts a team only above some megabytes: on a busy core, waiting for a team
/// takes longer than sorting those.
template <class B>
[[nodiscard]] bool sort_ordered(const Block<B>& block, int threads);

struct Tuning {
  index_t device_memory = 0;  ///< device memory that kernels may use, in bytes; 0: what is free
};

/// Sorts keys[0:n] in place by `order` (defined in key.hpp), by the row of that name or by `auto`;
/// scratch[0:n] is overwritten and overlaps nothing. Calls `done` for some of the keys once they
/// are final. Runs on the threads of the enclosing parallel region; device kernels must be called
/// outside of any, and use default_threads(). Inputs larger than the device's memory are sorted in
/// runs. Keys of less than 32 bits are sorted in a copy in 32 bits, without calls of `done`. Throws
/// Error(usage) for an unknown name and for keys that exceed the range of a counting sort.
template <class T>
void sort_keys(std::string_view variant, std::span<T> keys, std::span<T> scratch,
               Order order = Order::ascending, const Tuning& tuning = {}, const Done& done = {});

/// Sorts likewise outside of any parallel region, on up to `threads` threads and with internal
/// scratch memory, neither of which is allocated while `auto` finds the keys in order.
template <class T>
void sort_keys(std::string_view variant, std::span<T> keys, int threads,
               Order order = Order::ascending);

/// As the functions above, for keys under other names.
template <OtherKey T>
void sort_keys(std::string_view variant, std::span<T> keys, std::span<T> scratch,
               Order order = Order::ascending, const Tuning& tuning = {}, const Done& done = {}) {
  using Key = SortedAs<T>;
  sort_keys(variant, std::span(reinterpret_cast<Key*>(keys.data()), keys.size()),
            std::span(reinterpret_cast<Key*>(scratch.data()), scratch.size()), order, tuning, done);
}
template <OtherKey T>
void sort_keys(std::string_view variant, std::span<T> keys, int threads,
               Order order = Order::ascending) {
  sort_keys(variant, std::span(reinterpret_cast<SortedAs<T>*>(keys.data()), keys.size()), threads,
            order);
}

/// Returns the bytes of a machine::Workspace from which that function allocates all for n keys, by
/// `auto`.
template <class T>
[[nodiscard]] index_t workspace_bytes(index_t n, int threads);

/// Sorts keys[0:n] in place as `auto` if they are in order, nearly so or reversed; outside of any
/// parallel region (sort_ordered). Calls `done` for some of the keys once they are final.
template <class T>
[[nodiscard]] bool sort_ordered(std::span<T> keys, int threads, Order order = Order::ascending,
                                const Done& done = {});

/// Sorts pairs[0:n] by (key, index). Precondition: their indices ascend.
void sort_pairs(std::string_view variant, std::span<Pair> pairs, std::span<Pair> scratch,
                const Tuning& tuning = {});
/// Sorts pairs likewise outside of any parallel region.
void sort_pairs(std::string_view variant, std::span<Pair> pairs, int threads);

}  // namespace tessera::inline v1::sort
