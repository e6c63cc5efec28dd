#pragma once
// Verification of sorts: whether a block is in order, and whether it holds the keys it held before.

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "kernels/sort/key.hpp"
#include "kernels/sort/verify_kernels.hpp"

namespace tessera::inline v1::sort {

/// The content of blocks, compared between input and output: the count and a seeded multiset hash.
///
/// The hash is the sum mod 2^64 of a seeded function of each key's unmapped bits
/// (verify_kernels.cpp): one multiplication of the folded key by a random odd factor, then the
/// product of the halves of the result (the square, for 32-bit keys), so that lost, duplicated,
/// corrupted or recombined keys are detected even if all sums of their bits are preserved. It is
/// not a cryptographic hash: who knows the seed can construct other keys of the same sum. For keys
/// changed without knowledge of it, two different ones have the same hash for about one seed in
/// 2^62 (never, with 32 bits); the worst of the patterns tried, few keys that differ in their three
/// uppermost bits and preserve sums and sums of squares, is missed by one seed of 2 * 10^5, all
/// others by none of 3 * 10^7.
struct Content {
  index_t count = 0;
  std::uint64_t hash = 0;
  friend bool operator==(const Content&, const Content&) = default;
};

/// Returns the block's content; the contents of blocks add up. Runs on the threads of the enclosing
/// parallel region.
template <class T>
[[nodiscard]] Content content(std::span<const T> keys, std::uint64_t seed);

/// The content, and whether the keys are in `order` by the mapped bits (key.hpp). inspect()
/// compares adjacent keys, in one pass.
struct Inspection {
  Content content;
  bool sorted = true;
};
template <class T>
[[nodiscard]] Inspection inspect(std::span<const T> keys, Order order, std::uint64_t seed);

/// Incremental inspection: a sort reports keys that it has finished while they are still cached
/// (Done).
template <class T>
class Watch {
 public:
  Watch(std::span<const T> keys, Order order, std::uint64_t seed)
      : keys_(keys), order_(order), seed_(seed) {}

  /// Returns whether all keys are in order already, and so stay; stops at the first that is not. If
  /// so, this pass suffices for both the sort and its check. Call it outside of any parallel
  /// region.
  [[nodiscard]] bool finds_order(int threads);
  /// Inspects keys that are final. Thread-safe.
  void saw(const void* first, index_t n);
  [[nodiscard]] bool saw_any() const { return !parts_.empty(); }
  /// Inspects the remaining keys and the borders between the parts; overlapping parts are inspected
  /// again. Later changes are detected at the ends of a part only.
  [[nodiscard]] Inspection conclude();

 private:
  struct Part {
    index_t begin, end;
    Bits<T> first, last;  // keys at inspection
    Inspection seen;
  };
  [[nodiscard]] Inspection inspect_part(index_t begin, index_t end) const;

  std::span<const T> keys_;
  Order order_;
  std::uint64_t seed_;
  std::mutex mutex_;
  std::vector<Part> parts_;
};

/// Returns the sum of a hash of every word of every row with the row's index and the word's place
/// in it: rows in two orders agree if the same bytes have the same index in both. On processors
/// with carry-less multiplication, long rows enter as a 16-byte digest (verify_digest.cpp), on
/// which two rows collide for one seed in 2^64. Runs on the threads of the enclosing parallel
/// region.
[[nodiscard]] std::uint64_t hash_indexed(const IndexedRows& rows, std::uint64_t seed);

/// Computes words[j] = a word of key j, j in [0, n), unsigned in the order of the keys
/// (verify_kernels.hpp): numbers, or at most 8 bytes of strings. These and the following functions
/// run on this thread.
void words_of_numbers(const KeyRows& keys, index_t n, const KeyMap<std::uint32_t>& map,
                      Equality equality, std::uint64_t* words);
void words_of_numbers(const KeyRows& keys, index_t n, const KeyMap<std::uint64_t>& map,
                      Equality equality, std::uint64_t* words);
void words_of_strings(const KeyRows& keys, index_t n, index_t bytes, std::uint64_t flip,
                      std::uint64_t* words);
/// Returns how many of words[0:n] are below the previous one (initially words[-1]), among rows that
/// equal the previous one so far: those whose bit is set in `equal`, one byte per eight rows.
/// Clears the bit of rows whose words differ.
[[nodiscard]] index_t steps_down(const std::uint64_t* words, index_t n, unsigned char* equal);
/// Returns how many are not above the previous one.
[[nodiscard]] index_t steps_not_up(const std::uint64_t* words, index_t n,
                                   const unsigned char* equal);

/// A column of `bytes` bytes per row.
struct RowColumn {
  const std::byte* data = nullptr;
  index_t bytes = 0;
};
/// Returns the sum of a seeded hash of each of n rows over all its columns: equal for the same rows
/// in another order, and different (except for one seed in 2^60 or so) if rows have exchanged
/// elements. On this thread.
[[nodiscard]] std::uint64_t hash_of_rows(std::span<const RowColumn> columns, index_t n,
                                         std::uint64_t seed);

template <class T>
[[nodiscard]] bool is_sorted(std::span<const T> keys, Order order = Order::ascending) {
  return inspect(keys, order, 0).sorted;
}

}  // namespace tessera::inline v1::sort
