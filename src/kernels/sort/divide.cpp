// Division of keys into buckets by a radix plan: a counting pass, an exclusive scan, and a pass
// that writes full chunks by streaming stores.

#include "kernels/sort/divide.hpp"

#include <algorithm>

#include "kernels/sort/chunks.hpp"
#include "kernels/sort/common.hpp"
#include "kernels/sort/radix_plan.hpp"
#include "machine/buffer.hpp"

namespace tessera::inline v1::sort {
namespace {

constexpr index_t line_bytes = 64;
constexpr index_t chunk_bytes =
    1024;  // of a bucket being filled: 300 of them fit a second-level cache

/// Calls f(batch, bits, bucket, count) for the keys in batches that fit a first-level cache.
template <class B, class F>
void classify_all(const Division<B>& division, const B* keys, index_t n, const F& f) {
  const auto& kernels = leaf_kernels<B>();
  B bits[classify_batch];
  std::uint16_t bucket[classify_batch];
  for (index_t i = 0; i < n; i += classify_batch) {
    const index_t count = std::min(classify_batch, n - i);
    kernels.classify(division, keys + i, count, keys + std::min(i + classify_batch, n - count),
                     bits, bucket);
    f(keys + i, bucket, count);
  }
}

/// Keys in transit to the buckets of one task: one chunk each, copied by streaming stores when
/// full. Chunks have the same offset within a cache line as their destinations, so that whole lines
/// are written.
template <class B>
class Outgoing {
 public:
  Outgoing(B* to, const index_t* place, index_t buckets, B* memory)
      : streams_(static_cast<std::size_t>(buckets)), first_(streams_.size()), to_(streams_.size()) {
    for (std::size_t b = 0; b < streams_.size(); ++b) {
      B* const begin = memory + static_cast<index_t>(b) * chunk;
      to_[b] = to + place[b];
      const auto in_line = reinterpret_cast<std::uintptr_t>(to_[b]) % line_bytes / sizeof(B);
      first_[b] = begin + in_line;
      streams_[b] = {first_[b], begin + chunk};
    }
  }
  void put(const B* keys, const std::uint16_t* bucket, index_t n) {
    put_all(streams_.data(), keys, bucket, n, [this](std::size_t b) { flush(b); });
  }
  void finish() {
    for (std::size_t b = 0; b < streams_.size(); ++b)
      std::copy(first_[b], streams_[b].next, to_[b]);
  }

  static constexpr index_t chunk = chunk_bytes / static_cast<index_t>(sizeof(B));

 private:
  [[gnu::noinline]] void flush(std::size_t b) {
    B* const begin = streams_[b].end - chunk;
    if (first_[b] == begin)
      leaf_kernels<B>().copy_past_cache(begin, to_[b], chunk_bytes);
    else
      std::copy(first_[b], streams_[b].end, to_[b]);
    to_[b] += streams_[b].end - first_[b];
    first_[b] = streams_[b].next = begin;
  }

  std::vector<StreamEnd<B>> streams_;
  std::vector<B*> first_, to_;  // position in the chunk, and its destination
};

template <class B>
void divide_bits(const RadixPlan<B>& plan, const B* from, B* to, index_t n,
                 std::span<index_t> begin) {
  const index_t buckets = plan.buckets();
  const index_t tasks = team() == 1 ? 1 : std::clamp<index_t>(n / task_grain, 1, 2 * team());
  const index_t length = ceil_div(std::max<index_t>(n, 1), tasks);
  const auto part = [=](index_t t) { return std::min(n, t * length); };
  std::vector<index_t> place(static_cast<std::size_t>(tasks * buckets), 0);
  machine::parallel_for(0, tasks, 1, [&](index_t t, index_t) {
    index_t* const count = place.data() + t * buckets;
    classify_all(plan.division(), from + part(t), part(t + 1) - part(t),
                 [count](const B*, const std::uint16_t* bucket, index_t some) {
                   for (index_t i = 0; i < some; ++i) ++count[bucket[i]];
                 });
  });
  index_t sum = 0;
  for (index_t b = 0; b < buckets; ++b) {
    begin[static_cast<std::size_t>(b)] = sum;
    for (index_t t = 0; t < tasks; ++t)
      sum += std::exchange(place[static_cast<std::size_t>(t * buckets + b)], sum);
  }
  begin[static_cast<std::size_t>(buckets)] = sum;
  machine::Buffer<B> memory(tasks * buckets * Outgoing<B>::chunk);
  machine::parallel_for(0, tasks, 1, [&](index_t t, index_t) {
    Outgoing<B> outgoing(to, place.data() + t * buckets, buckets,
                         memory.data() + t * buckets * Outgoing<B>::chunk);
    classify_all(plan.division(), from + part(t), part(t + 1) - part(t),
                 [&](const B* keys, const std::uint16_t* bucket, index_t some) {
                   outgoing.put(keys, bucket, some);
                 });
    outgoing.finish();
  });
}

}  // namespace

template <class T>
struct Divider<T>::Plan : RadixPlan<Bits<T>> {};

template <class T>
Divider<T>::Divider(std::span<const T> sample, index_t wanted, Order order)
    : plan_(std::make_unique<Plan>()) {
  TESSERA_EXPECTS(!sample.empty() && wanted >= 1 && wanted <= most_buckets);
  const auto map = key_map<T>(order);
  const auto bits_at = [&](index_t s) {
    return map.to_bits(std::bit_cast<Bits<T>>(sample[static_cast<std::size_t>(s)]));
  };
  plan_->divide_by_sample(std::min(static_cast<index_t>(sample.size()), most_samples), bits_at,
                          wanted, map);
}

template <class T>
Divider<T>::~Divider() = default;
template <class T>
Divider<T>::Divider(Divider&&) noexcept = default;
template <class T>
Divider<T>& Divider<T>::operator=(Divider&&) noexcept = default;

template <class T>
index_t Divider<T>::buckets() const {
  return plan_->buckets();
}

template <class T>
std::uint64_t Divider<T>::fingerprint() const {
  std::uint64_t print = 0;
  for (index_t b = 0; b < buckets(); ++b) print = mix64(print ^ mix64(plan_->bounds(b).high));
  return print;
}

template <class T>
void Divider<T>::divide(std::span<const T> from, std::span<T> to, std::span<index_t> begin) const {
  TESSERA_EXPECTS(from.size() == to.size() && static_cast<index_t>(begin.size()) == buckets() + 1);
  using B = Bits<T>;
  divide_bits<B>(*plan_, reinterpret_cast<const B*>(from.data()), reinterpret_cast<B*>(to.data()),
                 static_cast<index_t>(from.size()), begin);
}

template <class T>
void Divider<T>::classify(std::span<const T> keys, std::uint16_t* bucket) const {
  using B = Bits<T>;
  classify_all(plan_->division(), reinterpret_cast<const B*>(keys.data()),
               static_cast<index_t>(keys.size()),
               [&](const B*, const std::uint16_t* some, index_t n) {
                 bucket = std::copy_n(some, n, bucket);
               });
}

template class Divider<std::int32_t>;
template class Divider<std::int64_t>;
template class Divider<std::uint32_t>;
template class Divider<std::uint64_t>;
template class Divider<float>;
template class Divider<double>;

}  // namespace tessera::inline v1::sort
