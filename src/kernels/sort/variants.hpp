#pragma once
// The table of sorts, and the way in: sort_keys maps a key type to bits and calls a row.

#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/sort/key.hpp"
#include "kernels/sort/survey.hpp"
#include "kernels/variant.hpp"

namespace tessera::sort {

struct Variant : VariantInfo {
  std::uint64_t widest_range;  ///< of max - min in bits; all ones where any keys are served
  void (*keys32)(const Block<std::uint32_t>&);
  void (*keys64)(const Block<std::uint64_t>&);
  void (*pairs)(const Block<Pair>&);

  void operator()(const Block<std::uint32_t>& block) const { keys32(block); }
  void operator()(const Block<std::uint64_t>& block) const { keys64(block); }
  void operator()(const Block<Pair>& block) const { pairs(block); }
};

/// The rows; the first is the reference. `auto` is not a row: see automatic().
[[nodiscard]] std::span<const Variant> variants();

/// The fastest one on a device; nullptr in a build without CUDA.
[[nodiscard]] const Variant* best_device();

/// What `auto` does with an input that is neither in order nor reversed.
enum class Plan { merge_runs, displaced, counting_bucketed, radix };
[[nodiscard]] std::string_view name(Plan plan);
[[nodiscard]] Plan choose(const Survey& seen, index_t n);

/// Glances at the input; where that is promising, looks at all of it in one pass; sorts it by the
/// best plan.
template <class Item>
void automatic(const Block<Item>& block);
/// The same for keys, as far as it goes without scratch memory: false where it does not.
template <class B>
[[nodiscard]] bool automatic_in_place(const Block<B>& block);

/// The same for keys that are in order or reversed or, of some megabytes, nearly in order, outside
/// of any region: false for others, which mostly show at once. No scratch memory is touched, and a
/// team is started only behind some megabytes: where a core has other work, to wait for it takes
/// longer than those.
template <class B>
[[nodiscard]] bool sort_ordered(const Block<B>& block, int threads);

struct Tuning {
  index_t device_memory =
      0;  ///< kernels of a device: bytes that they may take there; 0: what is free
};

/// keys[0:n] in place by `order` (key.hpp says which), by the row of that name or by `auto`;
/// scratch[0:n] is overwritten and overlaps nothing. `done` may be told of keys in their place. On
/// the threads of the region it is called in; kernels of a device are called outside of any, and
/// take default_threads(). What a device does not hold goes through it in runs. Throws Error(usage)
/// for an unknown name and for keys that span more than a counting sort serves.
template <class T>
void sort_keys(std::string_view variant, std::span<T> keys, std::span<T> scratch,
               Order order = Order::ascending, const Tuning& tuning = {}, const Done& done = {});

/// The same outside of any region, on up to `threads` threads and with scratch memory of its own,
/// none of which are asked for as long as `auto` finds the keys in order.
template <class T>
void sort_keys(std::string_view variant, std::span<T> keys, int threads,
               Order order = Order::ascending);

/// keys[0:n] in place as `auto`, if they are in order, nearly so or reversed; outside of any region
/// (sort_ordered). `done` may be told of keys in their place.
template <class T>
[[nodiscard]] bool sort_ordered(std::span<T> keys, int threads, Order order = Order::ascending,
                                const Done& done = {});

/// pairs[0:n] by (key, index); their indices must ascend.
void sort_pairs(std::string_view variant, std::span<Pair> pairs, std::span<Pair> scratch,
                const Tuning& tuning = {});
/// As sort_keys outside of any region.
void sort_pairs(std::string_view variant, std::span<Pair> pairs, int threads);

}  // namespace tessera::sort
