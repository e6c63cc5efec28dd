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
constexpr index_t batch = classify_batch;
constexpr std::size_t pieces_ahead = 3;  // called into the cache before they are needed
constexpr index_t pad_bytes = 64;        // keeps the chunks of neighbours out of each other's cache sets
constexpr index_t most_parts = 1 << 13;  // of a bucket; only buckets of very many equal keys would have more

/// The second step: one bucket from its pieces to its place, in cache. One object a thread.
template <class B>
class CacheSort {
 public:
  /// For buckets of at most so many keys; memory[0 : keys_of_memory(most_keys)] is used.
  CacheSort(index_t most_keys, B* memory)
      : kernels_(leaf_kernels<B>()),
        most_keys_(most_keys),
        memory_(memory),
        work_(memory + chunks() * stride()) {}

  [[nodiscard]] static index_t keys_of_memory(index_t most_keys) {
    const CacheSort sizes(most_keys, nullptr);
    return sizes.chunks() * sizes.stride() + most_keys;
  }

  /// to[0:n] = the keys of the pieces, sorted; `to` may be the only piece.
  void sort(const std::vector<Piece<B>>& pieces, B* to, index_t n, Bounds<B> bounds, const KeyMap<B>& map,
            const KeyMap<B>& back) {
    plan_.divide_evenly(bounds, std::clamp<index_t>(n / aim(), 1, parts()), map);
    if (n > kernels_.few && pieces[0].data != to && is_uneven(pieces)) {
      kernels_.sort_many({pieces.data(), static_cast<index_t>(pieces.size()), to, work_, n, bounds, back});
      return;
    }
    streams_.start(plan_.buckets(), kernels_.few, stride(), memory_, chunks());
    put(pieces);
    for (index_t part = 0; part < plan_.buckets(); ++part) to += sort_part(part, to, bounds, back);
  }

 private:
  /// Keys of a part on average: few enough that a part of evenly spread keys hardly ever exceeds `few`.
  [[nodiscard]] index_t aim() const { return kernels_.few - kernels_.few / 4; }
  [[nodiscard]] index_t stride() const { return kernels_.few + pad_bytes / static_cast<index_t>(sizeof(B)); }
  [[nodiscard]] index_t parts() const { return std::min<index_t>(most_keys_ / aim() + 1, most_parts); }
  [[nodiscard]] index_t chunks() const {
    return GrowingStreams<B>::chunks(most_keys_, parts(), kernels_.few);
  }

  /// Whether a sample lies so that even parts would be of very different sizes.
  [[nodiscard]] bool is_uneven(const std::vector<Piece<B>>& pieces) {
    constexpr index_t samples = 64, slots = 8;
    index_t count[slots] = {};
    for (index_t s = 0; s < samples; ++s) {
      const auto& piece = pieces[static_cast<std::size_t>(s) * pieces.size() / samples];
      bits_[s] = piece.data[static_cast<index_t>(mix64(static_cast<std::uint64_t>(s)) %
                                                 static_cast<std::uint64_t>(piece.n))];
    }
    kernels_.classify(plan_.division(), bits_, samples, bits_, bits_, bucket_);
    for (index_t s = 0; s < samples; ++s) ++count[bucket_[s] * slots / plan_.buckets()];
    return plan_.buckets() >= slots && *std::max_element(count, count + slots) > samples / 2;
  }

  void put(const std::vector<Piece<B>>& pieces) {
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
  }

  index_t sort_part(index_t part, B* to, Bounds<B> bounds, const KeyMap<B>& back) {
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
                        work_,
                        n,
                        {std::max(own.low, bounds.low), std::min(own.high, bounds.high)},
                        back});
    return n;
  }

  const LeafKernels<B>& kernels_;
  index_t most_keys_;
  B* memory_;  // (chunks, stride)
  B* work_;    // (most_keys)
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
    const index_t buffers = round_up(tasks_ * plan_.buckets() * stride, 64);
    most_keys_ = heavy * std::max(aim, n_ / most_buckets);
    worker_keys_ = round_up(CacheSort<B>::keys_of_memory(most_keys_), 64);
    // One allocation, so that what is touched of it shares huge pages.
    memory_ = machine::Buffer<B>(std::max(buffers + team() * worker_keys_, (2 << 20) / index_t{sizeof(B)}));
    worker_memory_ = memory_.data() + buffers;
    machine::parallel_for(0, tasks_, 1, [&](index_t t, index_t) {
      const index_t begin = std::min(n_, t * length), end = std::min(n_, begin + length);
      auto& streams = streams_[static_cast<std::size_t>(t)];
      streams.start(plan_.buckets(), chunk, stride, memory_.data() + t * plan_.buckets() * stride,
                    scratch_ + begin, end - begin);
      stream_keys(kernels_, plan_.division(), data_, begin, end, streams);
    });
  }

  void place_buckets() {
    place_ = machine::Buffer<index_t>(plan_.buckets() + 1);
    place_[0] = 0;
    for (index_t b = 0; b < plan_.buckets(); ++b) {
      place_[b + 1] = place_[b];
      for (const auto& streams : streams_) place_[b + 1] += streams.size(b);
    }
  }

  void sort_buckets() {
    std::vector<std::unique_ptr<Worker>> workers(static_cast<std::size_t>(team()));
    machine::parallel_for(0, plan_.buckets(), 1, [&](index_t b, index_t) {
      auto& worker = workers[static_cast<std::size_t>(omp_get_thread_num())];
      if (!worker)
        worker = std::make_unique<Worker>(most_keys_, worker_memory_ + omp_get_thread_num() * worker_keys_);
      worker->pieces.clear();
      for (const auto& streams : streams_) streams.add_pieces(b, worker->pieces);
      if (size(b) > most_keys_)
        gather(b, worker->pieces);
      else if (size(b) > 0)
        sort_bucket(b, *worker);
    });
    for (index_t b = 0; b < plan_.buckets(); ++b) {
      if (size(b) > most_keys_) sort_heavy(b);
    }
  }

  struct Worker {
    Worker(index_t most_keys, B* memory) : cache(most_keys, memory) {}
    CacheSort<B> cache;
    std::vector<Piece<B>> pieces;
  };

  void sort_bucket(index_t b, Worker& worker) {
    Bounds<B> bounds = plan_.bounds(b);
    if (b == 0 || b + 1 == plan_.buckets()) {
      bounds = {};
      for (const auto& piece : worker.pieces) {
        const Survey seen = kernels_.survey(piece.data, piece.n, piece.data[0], {});
        bounds = {std::min(bounds.low, static_cast<B>(seen.min)),
                  std::max(bounds.high, static_cast<B>(seen.max))};
      }
    }
    worker.cache.sort(worker.pieces, data_ + place_[b], size(b), bounds, {}, map_);
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
    const Survey seen = kernels_.survey(data_, n_, data_[0], map_);
    if (seen.descents == 0) return;
    machine::Buffer<B> memory(CacheSort<B>::keys_of_memory(n_));
    CacheSort<B>(n_, memory.data())
        .sort({{data_, n_}}, data_, n_, {static_cast<B>(seen.min), static_cast<B>(seen.max)}, map_, map_);
  }

  B* data_;
  B* scratch_;
  index_t n_;
  KeyMap<B> map_;
  const LeafKernels<B>& kernels_;
  RadixPlan<B> plan_;
  index_t tasks_ = 0;
  std::vector<FlushedStreams<B>> streams_;  // of a task
  machine::Buffer<B> memory_;               // buffers of the streams, then what the workers need
  B* worker_memory_ = nullptr;
  index_t most_keys_ = 0, worker_keys_ = 0;
  machine::Buffer<index_t> place_;  // where in data a bucket begins
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
