#pragma once
// Is a block sorted, and does it hold what it held before?

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "kernels/sort/key.hpp"
#include "kernels/sort/verify_kernels.hpp"

namespace tessera::sort {

/// What is summed over blocks and compared between input and output: the count and a seeded
/// multiset hash.
///
/// The hash is the sum mod 2^64 of a function of each key's unmapped bits, drawn by the seed
/// (verify_kernels.cpp): one multiplication of the folded key by a random odd factor, then the
/// product of the halves of what comes out (the square, of keys of 32 bits), so that keys lost,
/// doubled, damaged or put together from others show although all sums of their bits may stay. It
/// is no cryptographic hash: who knows the seed makes other keys of the same sum. Of keys changed
/// without knowing it, two different ones have the same hash for about one seed in 2^62 (never,
/// with 32 bits); the worst of the patterns tried, few keys that differ in their three uppermost
/// bits and whose sums and sums of squares stay, is missed by one seed of 2 * 10^5, all others by
/// none of 3 * 10^7.
struct Content {
  index_t count = 0;
  std::uint64_t hash = 0;
  friend bool operator==(const Content&, const Content&) = default;
};

/// Sums of the block's content; blocks' sums add up. In parallel on the threads of the region it is
/// called in.
template <class T>
[[nodiscard]] Content content(std::span<const T> keys, std::uint64_t seed);

/// The content, and whether it is in `order` by the mapped bits (key.hpp), neighbour by neighbour:
/// one pass.
struct Inspection {
  Content content;
  bool sorted = true;
};
template <class T>
[[nodiscard]] Inspection inspect(std::span<const T> keys, Order order, std::uint64_t seed);

/// The same, in parts: a sort tells it of keys that it has finished, while a cache still holds them
/// (Done).
template <class T>
class Watch {
 public:
  Watch(std::span<const T> keys, Order order, std::uint64_t seed)
      : keys_(keys), order_(order), seed_(seed) {}

  /// Whether all keys are in order as they are, and so stay; ends at the first that is not. Where
  /// they are, this look is all that a sort and its check need. Outside of any region.
  [[nodiscard]] bool finds_order(int threads);
  /// Some of the keys stay as they are now. By any thread.
  void saw(const void* first, index_t n);
  [[nodiscard]] bool saw_any() const { return !parts_.empty(); }
  /// Looks at what was not seen yet and at the borders between the parts; parts that lie over each
  /// other are looked at again. What was changed later is noticed at the ends of a part only.
  [[nodiscard]] Inspection conclude();

 private:
  struct Part {
    index_t begin, end;
    Bits<T> first, last;  // keys, then
    Inspection seen;
  };
  [[nodiscard]] Inspection inspect_part(index_t begin, index_t end) const;

  std::span<const T> keys_;
  Order order_;
  std::uint64_t seed_;
  std::mutex mutex_;
  std::vector<Part> parts_;
};

/// The sum of a hash of every word of every row with the row's index and the word's place in it:
/// rows in two orders agree where the same bytes have the same index in both. Where processors
/// multiply without carries, long rows enter as the 16 bytes of a digest (verify_digest.cpp), which
/// two rows share for one seed in 2^64. In parallel, as above.
[[nodiscard]] std::uint64_t hash_indexed(const IndexedRows& rows, std::uint64_t seed);

/// words[j] = a word of key j, j in [0, n), unsigned in the order of the keys (verify_kernels.hpp):
/// numbers, or at most 8 bytes of strings. These and what follows by this thread.
void words_of_numbers(const KeyRows& keys, index_t n, const KeyMap<std::uint32_t>& map,
                      Equality equality, std::uint64_t* words);
void words_of_numbers(const KeyRows& keys, index_t n, const KeyMap<std::uint64_t>& map,
                      Equality equality, std::uint64_t* words);
void words_of_strings(const KeyRows& keys, index_t n, index_t bytes, std::uint64_t flip,
                      std::uint64_t* words);
/// How many of words[0:n] are below the one before (words[-1] at first), of rows that equal the one
/// before so far: whose bit is set in `equal`, a byte of which tells of eight rows. Rows whose
/// words differ are no more.
[[nodiscard]] index_t steps_down(const std::uint64_t* words, index_t n, unsigned char* equal);
/// How many are not above the one before.
[[nodiscard]] index_t steps_not_up(const std::uint64_t* words, index_t n,
                                   const unsigned char* equal);

/// A column of `bytes` a row.
struct RowColumn {
  const std::byte* data = nullptr;
  index_t bytes = 0;
};
/// The sum of a hash of each of n rows, drawn by the seed, of all its columns: the same for the
/// same rows in another order, and another one (but for one seed in 2^60 or so) where some row has
/// an element of another. By this thread.
[[nodiscard]] std::uint64_t hash_of_rows(std::span<const RowColumn> columns, index_t n,
                                         std::uint64_t seed);

template <class T>
[[nodiscard]] bool is_sorted(std::span<const T> keys, Order order = Order::ascending) {
  return inspect(keys, order, 0).sorted;
}

}  // namespace tessera::sort
