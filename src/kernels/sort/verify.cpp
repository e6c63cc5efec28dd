// Verification of sorts: multiset hashes and order of keys and rows, in parallel over blocks.

#include "kernels/sort/verify.hpp"

#include <algorithm>
#include <array>
#include <atomic>

#include "base/hash.hpp"
#include "kernels/sort/common.hpp"
#include "kernels/sort/verify_kernels.hpp"

namespace tessera::inline v1::sort {
namespace {

template <class B>
const B* bits_of(const void* keys) {
  return static_cast<const B*>(keys);
}

Salt salt_of(std::uint64_t seed) { return {mix64(seed), mix64(~seed) | 1}; }

std::uint64_t hash(const std::uint32_t* raw, index_t n, const Salt& salt) {
  return TESSERA_OF_ISA(machine::isa(), hash_keys32)(raw, n, salt);
}
std::uint64_t hash(const std::uint64_t* raw, index_t n, const Salt& salt) {
  return TESSERA_OF_ISA(machine::isa(), hash_keys64)(raw, n, salt);
}
Looked look(const std::uint32_t* raw, index_t n, std::uint32_t before,
            const KeyMap<std::uint32_t>& map, const Salt& salt) {
  return TESSERA_OF_ISA(machine::isa(), look_at_keys32)(raw, n, before, map, salt);
}
Looked look(const std::uint64_t* raw, index_t n, std::uint64_t before,
            const KeyMap<std::uint64_t>& map, const Salt& salt) {
  return TESSERA_OF_ISA(machine::isa(), look_at_keys64)(raw, n, before, map, salt);
}

// Row sizes that are digested before they are hashed with their indices or words with their places:
// 100 bytes 17 -> 33 GB/s in a first-level cache (Emerald Rapids). Only on processors with
// carry-less multiplication.
#ifndef __x86_64__
constexpr index_t least_digested = 64, most_digested = 0;
#else
constexpr index_t least_digested = 64, most_digested = 1024;
#endif
constexpr index_t digest_bytes = 16;

bool is_digested(index_t bytes) { return bytes >= least_digested && bytes <= most_digested; }

IndexedRows part_of(IndexedRows rows, index_t begin, index_t end) {
  rows.data += begin * rows.bytes;
  rows.n = end - begin;
  rows.first += static_cast<std::uint64_t>(begin);
  if (rows.indices != nullptr) rows.indices += begin;
  return rows;
}

/// Digests of 16 bytes of long rows, a few at a time.
class Digest {
 public:
  static constexpr index_t most_rows =
      512;  // the digests share a first-level cache with some of the rows

  Digest(index_t bytes, std::uint64_t seed) {
    const std::uint64_t of_keys = mix64(mix64(mix64(seed)));
    for (index_t k = 0; k < 2 * ceil_div(bytes, digest_bytes); ++k)
      keys_[static_cast<std::size_t>(k)] = hash_at(of_keys, static_cast<std::uint64_t>(k));
  }
  /// Returns the digests with the same indices, valid until the next call.
  [[nodiscard]] IndexedRows of(IndexedRows rows) {
    TESSERA_OF_ISA(machine::isa(), digest_rows)(rows, keys_.data(), digests_.data());
    rows.data = std::as_bytes(std::span(digests_)).data();
    rows.bytes = digest_bytes;
    return rows;
  }

 private:
  std::array<std::uint64_t, most_digested / 8> keys_;
  std::array<std::uint64_t, most_rows * digest_bytes / 8> digests_;
};

/// Hashes rows by their digests, on this thread.
std::uint64_t hash_by_digests(const IndexedRows& rows, const Salt& salt, std::uint64_t seed) {
  constexpr index_t at_once = 128;
  Digest digest(rows.bytes, seed);
  std::uint64_t sum = 0;
  for (index_t begin = 0; begin < rows.n; begin += at_once) {
    const IndexedRows some = part_of(rows, begin, std::min(rows.n, begin + at_once));
    sum += TESSERA_OF_ISA(machine::isa(), hash_indexed)(digest.of(some), salt);
  }
  return sum;
}

}  // namespace

template <class T>
Content content(std::span<const T> keys, std::uint64_t seed) {
  const auto* bits = bits_of<Bits<T>>(keys.data());
  const auto n = static_cast<index_t>(keys.size());
  const Salt salt = salt_of(seed);
  std::atomic<std::uint64_t> sum = 0;
  machine::parallel_for(0, n, 8 * task_grain, [&](index_t begin, index_t end) {
    sum += hash(bits + begin, end - begin, salt);
  });
  return {n, sum};
}

template <class T>
Inspection inspect(std::span<const T> keys, Order order, std::uint64_t seed) {
  const auto* bits = bits_of<Bits<T>>(keys.data());
  const auto n = static_cast<index_t>(keys.size());
  const auto map = key_map<T>(order);
  const Salt salt = salt_of(seed);
  std::atomic<std::uint64_t> sum = 0;
  std::atomic<bool> sorted = true;
  machine::parallel_for(0, n, 8 * task_grain, [&](index_t begin, index_t end) {
    const Looked seen =
        look(bits + begin, end - begin, bits[std::max<index_t>(begin, 1) - 1], map, salt);
    sum += seen.hash;
    if (!seen.sorted) sorted = false;
  });
  return {{n, sum}, sorted};
}

template <class T>
Inspection Watch<T>::inspect_part(index_t begin, index_t end) const {
  return inspect(
      keys_.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)), order_,
      seed_);
}

template <class T>
bool Watch<T>::finds_order(int threads) {
  constexpr index_t at_once = 16384 / sizeof(T), alone = (index_t{16} << 20) / sizeof(T);
  const auto* bits = bits_of<Bits<T>>(keys_.data());
  const auto n = static_cast<index_t>(keys_.size());
  const auto map = key_map<T>(order_);
  const Salt salt = salt_of(seed_);
  std::atomic<std::uint64_t> sum = 0;
  std::atomic<bool> sorted = true;
  const auto look_through = [&](index_t begin, index_t end) {
    machine::parallel_for(begin, end, 8 * task_grain, [&](index_t first, index_t last) {
      for (index_t i = first; i < last && sorted; i += at_once) {
        const index_t here = std::min(at_once, last - i);
        const Looked seen = look(bits + i, here, bits[std::max<index_t>(i, 1) - 1], map, salt);
        sum += seen.hash;
        if (!seen.sorted) sorted = false;
      }
    });
  };
  look_through(0, std::min(n, alone));  // the time for those is too short to wait for a team
  if (sorted && n > alone) machine::parallel(threads, [&] { look_through(alone, n); });
  if (sorted && n > 0) parts_ = {{0, n, bits[0], bits[n - 1], {{n, sum}, true}}};
  return sorted;
}

template <class T>
void Watch<T>::saw(const void* first, index_t n) {
  if (n == 0) return;
  const auto* bits = static_cast<const Bits<T>*>(first);
  const index_t begin = bits - bits_of<Bits<T>>(keys_.data());
  const Looked seen = look(bits, n, bits[0], key_map<T>(order_), salt_of(seed_));
  const Part part{begin, begin + n, bits[0], bits[n - 1], {{n, seen.hash}, seen.sorted}};
  const std::lock_guard lock(mutex_);
  parts_.push_back(part);
}

template <class T>
Inspection Watch<T>::conclude() {
  const auto* bits = bits_of<Bits<T>>(keys_.data());
  const auto map = key_map<T>(order_);
  const auto n = static_cast<index_t>(keys_.size());
  const auto by_begin = [](const Part& a, const Part& b) { return a.begin < b.begin; };
  std::sort(parts_.begin(), parts_.end(), by_begin);
  parts_.push_back({n, n, {}, {}, {}});
  Inspection all;
  const auto add = [&](index_t begin, const Inspection& seen) {
    const bool follows =
        begin == 0 || begin == n || map.to_bits(bits[begin - 1]) <= map.to_bits(bits[begin]);
    all.sorted = all.sorted && seen.sorted && follows;
    all.content.count += seen.content.count;
    all.content.hash += seen.content.hash;
  };
  index_t end = 0;
  for (const Part& part : parts_) {
    if (part.begin < end) return inspect(keys_, order_, seed_);
    if (end < part.begin) add(end, inspect_part(end, part.begin));
    const bool stayed =
        part.begin == n || (bits[part.begin] == part.first && bits[part.end - 1] == part.last);
    if (!stayed) return inspect(keys_, order_, seed_);
    add(part.begin, part.seen);
    end = part.end;
  }
  return all;
}

std::uint64_t hash_indexed(const IndexedRows& rows, std::uint64_t seed) {
  const Salt salt = salt_of(seed);
  std::atomic<std::uint64_t> sum = 0;
  const index_t grain = std::max<index_t>(1, 64 * task_grain / std::max<index_t>(8, rows.bytes));
  machine::parallel_for(0, rows.n, grain, [&](index_t begin, index_t end) {
    const IndexedRows part = part_of(rows, begin, end);
    sum += is_digested(rows.bytes) ? hash_by_digests(part, salt, seed)
                                   : TESSERA_OF_ISA(machine::isa(), hash_indexed)(part, salt);
  });
  return sum;
}

void words_of_numbers(const KeyRows& keys, index_t n, const KeyMap<std::uint32_t>& map,
                      Equality equality, std::uint64_t* words) {
  TESSERA_OF_ISA(machine::isa(), words_of_numbers32)(keys, n, map, equality, words);
}
void words_of_numbers(const KeyRows& keys, index_t n, const KeyMap<std::uint64_t>& map,
                      Equality equality, std::uint64_t* words) {
  TESSERA_OF_ISA(machine::isa(), words_of_numbers64)(keys, n, map, equality, words);
}
void words_of_strings(const KeyRows& keys, index_t n, index_t bytes, std::uint64_t flip,
                      std::uint64_t* words) {
  TESSERA_OF_ISA(machine::isa(), words_of_strings)(keys, n, bytes, flip, words);
}
index_t steps_down(const std::uint64_t* words, index_t n, unsigned char* equal) {
  return TESSERA_OF_ISA(machine::isa(), steps_down)(words, n, equal);
}
index_t steps_not_up(const std::uint64_t* words, index_t n, const unsigned char* equal) {
  return TESSERA_OF_ISA(machine::isa(), steps_not_up)(words, n, equal);
}

std::uint64_t hash_of_rows(std::span<const RowColumn> columns, index_t n, std::uint64_t seed) {
  constexpr index_t at_once = Digest::most_rows;  // whose sums fit the first-level cache
  const Salt of_words = salt_of(seed), of_rows = salt_of(mix64(seed));
  std::vector<Digest> digests;
  for (const RowColumn& column : columns)
    if (is_digested(column.bytes))
      digests.emplace_back(column.bytes, hash_at(seed, digests.size()));
  std::array<std::uint64_t, at_once> sums;
  std::uint64_t sum = 0;
  for (index_t j = 0; j < n; j += at_once) {
    const index_t some = std::min(at_once, n - j);
    sums.fill(0);
    std::uint64_t word = 0;
    auto digest = digests.begin();
    for (const RowColumn& column : columns) {
      IndexedRows rows{column.data + j * column.bytes, column.bytes, some, nullptr, word};
      if (is_digested(column.bytes)) rows = (digest++)->of(rows);
      TESSERA_OF_ISA(machine::isa(), add_row_hashes)(rows, of_words, sums.data());
      word += static_cast<std::uint64_t>(ceil_div(rows.bytes, index_t{8}));
    }
    sum += hash(sums.data(), some, of_rows);
  }
  return sum;
}

#define TESSERA_SORT_INSTANTIATE_VERIFY(T)                               \
  template Content content(std::span<const T>, std::uint64_t);           \
  template Inspection inspect(std::span<const T>, Order, std::uint64_t); \
  template class Watch<T>
TESSERA_SORT_INSTANTIATE_VERIFY(std::int32_t);
TESSERA_SORT_INSTANTIATE_VERIFY(std::int64_t);
TESSERA_SORT_INSTANTIATE_VERIFY(std::uint32_t);
TESSERA_SORT_INSTANTIATE_VERIFY(std::uint64_t);
TESSERA_SORT_INSTANTIATE_VERIFY(float);
TESSERA_SORT_INSTANTIATE_VERIFY(double);

}  // namespace tessera::inline v1::sort
