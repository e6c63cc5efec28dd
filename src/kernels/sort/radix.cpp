// Radix sort for caches: distribute once, finish in cache.
//
// Keys stream into buckets of about a quarter of a second-level cache, without a counting pass: each thread
// writes chunks (chunks.hpp). Then every bucket, as a task, streams in the same way into parts of at most a
// few registers' worth of keys, which the leaf kernel of the instruction set sorts and writes to their place.
// Buckets are even slices of the key range or slices of like weight (radix_plan.hpp), so that skewed keys
// cost little more.

#include <memory>

#include "kernels/sort/algorithms.hpp"
#include "kernels/sort/chunks.hpp"
#include "kernels/sort/common.hpp"
#include "kernels/sort/radix_pairs.hpp"
#include "kernels/sort/radix_plan.hpp"
#include "machine/buffer.hpp"

namespace tessera::sort {
namespace {

constexpr index_t bucket_bytes = 256 << 10;  // with its parts inside a second-level cache of 1 MiB
constexpr index_t most_buckets = 1 << 11;    // more streams than this leave the first-level cache too often
constexpr index_t chunk_bytes = 1 << 10;     // so many buffers of the first distribution are 256 KiB
constexpr index_t heavy = 8;                 // times the aim; such buckets are distributed again
constexpr index_t batch = 512;               // keys classified at a time: they stay in the first-level cache
constexpr std::size_t pieces_ahead = 3;      // called into the cache before they are needed
constexpr index_t pad_bytes = 64;            // keeps the chunks of neighbours out of each other's cache sets
constexpr index_t most_parts = 1 << 13;  // of a bucket; only buckets of very many equal keys would have more

/// The second step: one bucket from its pieces to its place, in cache. One object a thread.
template <class B>
class CacheSort {
 public:
  explicit CacheSort(index_t most_keys)
      : kernels_(leaf_kernels<B>()),
        capacity_(kernels_.few),
        parts_(std::min<index_t>(most_keys / aim() + 1, most_parts)),
        chunks_(GrowingStreams<B>::chunks(most_keys, parts_, capacity_)),
        memory_(chunks_ * stride()) {}

  /// to[0:n] = the keys of the pieces, sorted; work[0:n] is overwritten, and may hold none of the pieces.
  void sort(const std::vector<Piece<B>>& pieces, B* to, B* work, index_t n, Bounds<B> bounds,
            const KeyMap<B>& map, const KeyMap<B>& back) {
    plan_.divide_evenly(bounds, std::clamp<index_t>(n / aim(), 1, parts_), map);
    streams_.start(plan_.buckets(), capacity_, stride(), memory_.data(), chunks_);
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      const Piece<B> piece = pieces[p];
      const B* const after = pieces[std::min(p + pieces_ahead, pieces.size() - 1)].data;
      for (index_t i = 0; i < piece.n; i += batch) {
        const index_t length = std::min(batch, piece.n - i);
        const B* const ahead = i + batch < piece.n ? piece.data + i + batch : after;
        kernels_.classify(plan_.division(), piece.data + i, length, ahead, bits_, bucket_);
        streams_.put(bits_, bucket_, length);
      }
    }
    for (index_t part = 0; part < plan_.buckets(); ++part) {
      const index_t length = sort_part(part, to, work, bounds, back);
      to += length;
      work += length;
    }
  }

 private:
  /// Keys of a part on average: few enough that a part of evenly spread keys hardly ever exceeds `few`.
  [[nodiscard]] index_t aim() const { return kernels_.few - kernels_.few / 4; }
  [[nodiscard]] index_t stride() const { return capacity_ + pad_bytes / static_cast<index_t>(sizeof(B)); }

  index_t sort_part(index_t part, B* to, B* work, Bounds<B> bounds, const KeyMap<B>& back) {
    const Piece<B> piece = streams_.first_piece(part);
    if (streams_.is_one_chunk(part)) {
      kernels_.sort_few(piece.data, to, piece.n, back);
      return piece.n;
    }
    const Bounds<B> own = plan_.bounds(part);
    list_.clear();
    streams_.add_pieces(part, list_);
    const index_t n = streams_.size(part);
    kernels_.sort_many({list_.data(),
                        static_cast<index_t>(list_.size()),
                        to,
                        work,
                        n,
                        {std::max(own.low, bounds.low), std::min(own.high, bounds.high)},
                        back});
    return n;
  }

  const LeafKernels<B>& kernels_;
  index_t capacity_, parts_, chunks_;
  machine::Buffer<B> memory_;
  RadixPlan<B> plan_;
  GrowingStreams<B> streams_;
  std::vector<Piece<B>> list_;
  B bits_[batch];
  std::uint16_t bucket_[batch];
};

template <class B>
class Radix {
 public:
  Radix(B* data, B* scratch, index_t n, const KeyMap<B>& map)
      : data_(data), scratch_(scratch), n_(n), map_(map), kernels_(leaf_kernels<B>()) {}

  void sort() {
    if (n_ < 2) return;
    if (n_ <= 2 * aim) {
      sort_alone();
      return;
    }
    plan_.divide_sampled(data_, n_, std::clamp<index_t>(n_ / aim, 16, most_buckets), map_);
    distribute();
    place_buckets();
    sort_buckets();
  }

 private:
  static constexpr index_t aim = bucket_bytes / static_cast<index_t>(sizeof(B));
  static constexpr index_t chunk = chunk_bytes / static_cast<index_t>(sizeof(B));

  [[nodiscard]] index_t size(index_t b) const { return place_[b + 1] - place_[b]; }

  /// All keys of data into the streams, one set of them a task.
  void distribute() {
    tasks_ = team() == 1 ? 1 : 2 * team();
    streams_ = std::vector<FlushedStreams<B>>(static_cast<std::size_t>(tasks_));
    const index_t length = round_up(ceil_div(n_, tasks_), chunk);
    constexpr index_t stride = chunk + pad_bytes / static_cast<index_t>(sizeof(B));
    buffers_ = machine::Buffer<B>(tasks_ * plan_.buckets() * stride);
    machine::parallel_for(0, tasks_, 1, [&](index_t t, index_t) {
      const index_t begin = std::min(n_, t * length), end = std::min(n_, begin + length);
      auto& streams = streams_[static_cast<std::size_t>(t)];
      streams.start(plan_.buckets(), chunk, stride, buffers_.data() + t * plan_.buckets() * stride,
                    scratch_ + begin, end - begin);
      B bits[batch];
      std::uint16_t bucket[batch];
      for (index_t i = begin; i < end; i += batch) {
        const index_t count = std::min(batch, end - i);
        kernels_.classify(plan_.division(), data_ + i, count, data_ + std::min(i + batch, n_ - count), bits,
                          bucket);
        streams.put(kernels_, bits, bucket, count);
      }
    });
  }

  void place_buckets() {
    place_ = machine::Buffer<index_t>(plan_.buckets() + 1);
    place_[0] = 0;
    for (index_t b = 0; b < plan_.buckets(); ++b) {
      place_[b + 1] = place_[b];
      for (const auto& streams : streams_) place_[b + 1] += streams.size(b);
      largest_ = std::max(largest_, size(b));
    }
  }

  void sort_buckets() {
    const index_t limit = std::min(largest_, heavy * std::max(aim, n_ / most_buckets));
    std::vector<std::unique_ptr<Worker>> workers(static_cast<std::size_t>(team()));
    for (auto& worker : workers) worker = std::make_unique<Worker>(limit);
    machine::parallel_for(0, plan_.buckets(), 1, [&](index_t b, index_t) {
      Worker& worker = *workers[static_cast<std::size_t>(omp_get_thread_num())];
      worker.pieces.clear();
      for (const auto& streams : streams_) streams.add_pieces(b, worker.pieces);
      if (size(b) > limit)
        gather(b, worker.pieces);
      else
        sort_bucket(b, worker);
    });
    for (index_t b = 0; b < plan_.buckets(); ++b) {
      if (size(b) > limit) sort_heavy(b);
    }
  }

  struct Worker {
    explicit Worker(index_t limit) : cache(limit), work(limit) {}
    CacheSort<B> cache;
    machine::Buffer<B> work;
    std::vector<Piece<B>> pieces;
  };

  void sort_bucket(index_t b, Worker& worker) {
    Bounds<B> bounds = plan_.bounds(b);
    if (b == 0 || b + 1 == plan_.buckets()) {
      Bounds<B> seen;
      for (const auto& piece : worker.pieces) {
        const Bounds<B> its = kernels_.find_bounds(piece.data, piece.n, {});
        seen = {std::min(seen.low, its.low), std::max(seen.high, its.high)};
      }
      bounds = seen;
    }
    if (size(b) > 0)
      worker.cache.sort(worker.pieces, data_ + place_[b], worker.work.data(), size(b), bounds, {}, map_);
  }

  void gather(index_t b, const std::vector<Piece<B>>& pieces) {
    B* to = data_ + place_[b];
    for (const auto& piece : pieces) {
      for (index_t i = 0; i < piece.n; ++i) *to++ = map_.to_raw(piece.data[i]);
    }
  }

  void sort_heavy(index_t b) {
    Radix part(data_ + place_[b], scratch_ + place_[b], size(b), map_);
    if (size(b) < n_ - n_ / 4)
      part.sort();
    else
      part.sort_alone();  // the sample did not see what differs: few keys do
  }

  /// Without a first distribution.
  void sort_alone() {
    const Bounds<B> bounds = kernels_.find_bounds(data_, n_, map_);
    if (bounds.low == bounds.high) return;
    CacheSort<B>(n_).sort({{data_, n_}}, data_, scratch_, n_, bounds, map_, map_);
  }

  B* data_;
  B* scratch_;
  index_t n_;
  KeyMap<B> map_;
  const LeafKernels<B>& kernels_;
  RadixPlan<B> plan_;
  index_t tasks_ = 0, largest_ = 0;
  std::vector<FlushedStreams<B>> streams_;  // of a task
  machine::Buffer<B> buffers_;              // of the streams
  machine::Buffer<index_t> place_;          // where in data a bucket begins
};

}  // namespace

template <class Item>
void radix(const Block<Item>& block) {
  if constexpr (std::is_same_v<Item, Pair>) {
    radix_pairs(block.data, block.scratch, block.data, block.n);
  } else {
    Radix<Item>(block.data, block.scratch, block.n, block.map).sort();
  }
}
TESSERA_SORT_INSTANTIATE(radix);

}  // namespace tessera::sort
