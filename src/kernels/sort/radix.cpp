// Radix sort for caches: distribute once, finish in cache.
//
// Blocks of keys that fit the second-level cache are grouped by bucket inside the cache (no global count, no
// write-combining across memory), as tasks. Then every bucket, as a task, gathers its pieces of all blocks
// and is sorted in cache by the leaf kernel of the instruction set. Buckets are slices of the key range, even
// or of equal weight (radix_plan.hpp), so that skewed keys cost no more.

#include "kernels/sort/algorithms.hpp"
#include "kernels/sort/common.hpp"
#include "kernels/sort/leaf.hpp"
#include "kernels/sort/radix_pairs.hpp"
#include "kernels/sort/radix_plan.hpp"
#include "machine/buffer.hpp"

namespace tessera::sort {
namespace {

constexpr index_t block_bytes =
    256 << 10;  // with the slices of its keys in any second-level cache of 512 KiB or more
constexpr index_t bucket_bytes = 256 << 10;  // two of it in a second-level cache
constexpr index_t most_buckets = 1 << 11;    // pieces of a block stay longer than two cache lines
constexpr index_t heavy = 8;                 // times the aim; such buckets are distributed again

template <class B>
class Radix {
 public:
  Radix(B* data, B* scratch, index_t n, const KeyMap<B>& map)
      : data_(data), scratch_(scratch), n_(n), map_(map), kernels_(leaf_kernels<B>()) {}

  void sort() {
    constexpr index_t aim = bucket_bytes / static_cast<index_t>(sizeof(B));
    if (n_ <= aim) {
      sort_as_one();
      return;
    }
    plan_ = plan_buckets(data_, n_, std::clamp<index_t>(n_ / aim, 16, most_buckets), map_);
    blocks_ = ceil_div(n_, block);
    stride_ = plan_.buckets + 1;
    begin_ = machine::Buffer<std::uint32_t>(blocks_ * stride_);
    distribute();
    place_buckets();
    const index_t limit = heavy * std::max(aim, n_ / most_buckets);
    machine::Buffer<B> work(team() * std::min(limit, largest_));
    machine::parallel_for(0, plan_.buckets, 1, [&](index_t b, index_t) {
      if (size(b) > limit)
        gather(b);
      else
        sort_bucket(b, work.data() + omp_get_thread_num() * std::min(limit, largest_));
    });
    for (index_t b = 0; b < plan_.buckets; ++b) {
      if (size(b) > limit) sort_heavy(b);
    }
  }

 private:
  static constexpr index_t block = block_bytes / static_cast<index_t>(sizeof(B));

  [[nodiscard]] index_t size(index_t b) const { return place_[b + 1] - place_[b]; }

  /// Groups every block of data by bucket into the same block of scratch.
  void distribute() {
    machine::Buffer<std::uint16_t> slices(team() * block);
    machine::Buffer<Bounds<B>> bounds(blocks_);
    machine::parallel_for(0, blocks_, 1, [&](index_t k, index_t) {
      bounds[k] = group_block(k, slices.data() + omp_get_thread_num() * block);
    });
    for (const Bounds<B>& seen : bounds)
      bounds_ = {std::min(bounds_.low, seen.low), std::max(bounds_.high, seen.high)};
  }

  Bounds<B> group_block(index_t k, std::uint16_t* bucket) {
    const B* const from = data_ + k * block;
    B* const to = scratch_ + k * block;
    const index_t length = std::min(block, n_ - k * block);
    const Bounds<B> seen = kernels_.find_slices(plan_.slices, from, length, bucket);
    std::uint32_t next[most_buckets] = {};
    for (index_t i = 0; i < length; ++i) ++next[bucket[i] = plan_.bucket_of[bucket[i]]];
    std::uint32_t* const begin = begin_.data() + k * stride_;
    std::uint32_t sum = 0;
    for (index_t b = 0; b < plan_.buckets; ++b) {
      begin[b] = sum;
      sum += std::exchange(next[b], sum);
    }
    begin[plan_.buckets] = sum;
    for (index_t i = 0; i < length; ++i) to[next[bucket[i]]++] = from[i];
    return seen;
  }

  void place_buckets() {
    place_ = machine::Buffer<index_t>(stride_);
    std::fill(place_.begin(), place_.end(), index_t{0});
    for (index_t k = 0; k < blocks_; ++k) {
      const std::uint32_t* const begin = begin_.data() + k * stride_;
      for (index_t b = 0; b < stride_; ++b) place_[b] += begin[b];
    }
    for (index_t b = 0; b < plan_.buckets; ++b) largest_ = std::max(largest_, size(b));
  }

  [[nodiscard]] Pieces<B> pieces(index_t b) const {
    return {scratch_, begin_.data() + b, blocks_, block, stride_};
  }

  void sort_bucket(index_t b, B* work) {
    const B low = b == 0 ? bounds_.low : plan_.first_bits(b);
    const B high = b + 1 == plan_.buckets ? bounds_.high : static_cast<B>(plan_.first_bits(b + 1) - 1);
    kernels_.sort_bucket({pieces(b), data_ + place_[b], work, size(b), low, high, map_});
  }

  void gather(index_t b) {
    B* to = data_ + place_[b];
    for (index_t k = 0; k < blocks_; ++k) {
      const std::uint32_t* const begin = begin_.data() + k * stride_ + b;
      to = std::copy(scratch_ + k * block + begin[0], scratch_ + k * block + begin[1], to);
    }
  }

  void sort_heavy(index_t b) {
    Radix part(data_ + place_[b], scratch_ + place_[b], size(b), map_);
    if (size(b) < n_ - n_ / 4)
      part.sort();
    else
      part.sort_as_one();  // the sample does not see what differs: few keys do
  }

  void sort_as_one() {
    if (n_ < 2) return;
    machine::Buffer<std::uint16_t> slices(std::min(n_, block));
    for (index_t i = 0; i < n_; i += block) {
      const Bounds<B> seen =
          kernels_.find_slices({0, 0, map_}, data_ + i, std::min(block, n_ - i), slices.data());
      bounds_ = {std::min(bounds_.low, seen.low), std::max(bounds_.high, seen.high)};
    }
    if (bounds_.low == bounds_.high) return;
    const std::uint32_t begin[2] = {0, static_cast<std::uint32_t>(n_)};
    kernels_.sort_bucket({{data_, begin, 1, 0, 0}, data_, scratch_, n_, bounds_.low, bounds_.high, map_});
  }

  B* data_;
  B* scratch_;
  index_t n_;
  KeyMap<B> map_;
  const LeafKernels<B>& kernels_;
  RadixPlan<B> plan_;
  index_t blocks_ = 0, stride_ = 0, largest_ = 0;
  machine::Buffer<std::uint32_t>
      begin_;                       // (blocks, buckets + 1): where in the block the bucket's piece begins
  machine::Buffer<index_t> place_;  // where in data the bucket begins
  Bounds<B> bounds_;
};

}  // namespace

template <class Item>
void radix(const Block<Item>& block) {
  if constexpr (std::is_same_v<Item, Pair>)
    radix_pairs(block.data, block.scratch, block.data, block.n);
  else
    Radix<Item>(block.data, block.scratch, block.n, block.map).sort();
}
TESSERA_SORT_INSTANTIATE(radix);

}  // namespace tessera::sort
