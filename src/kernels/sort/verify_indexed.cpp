// Hashes of rows with their indices, compiled once per instruction set. A word of a row is hashed
// as a key is, after adding a multiple of the row's index and one of the word's place in it.

#include "base/simd/shuffle.hpp"
#include "base/simd/tail.hpp"
#include "kernels/sort/verify_vectors.hpp"

namespace tessera::inline v1::sort::TESSERA_ISA {
namespace {

constexpr index_t words = lanes<std::uint64_t>;

struct Multiples {
  std::uint64_t of_index, of_place;  // odd
};
/// Returns multiples that differ from the hash's own factor.
[[gnu::always_inline]] inline Multiples multiples_of(const Salt& salt) {
  return {((salt.flip << 32 | salt.flip >> 32) ^ salt.factor) | 1,
          (salt.factor << 32 | salt.factor >> 32 | 1) + (salt.flip << 1)};
}

/// Reads `bytes` bytes from any address, with zeros in the others.
template <class Word>
[[gnu::always_inline]] inline Word read(const std::byte* from, index_t bytes = sizeof(Word)) {
  Word word{};
  __builtin_memcpy(&word, from, static_cast<std::size_t>(bytes));
  return word;
}

[[gnu::always_inline]] inline std::uint64_t index_of(const IndexedRows& rows, index_t j) {
  return rows.indices != nullptr ? rows.indices[j] : rows.first + static_cast<std::uint64_t>(j);
}

/// Hashes rows of one word, whose lower bits are an `Element`.
template <class Element>
std::uint64_t hash_elements(const IndexedRows& rows, const Salt& salt) {
  using Elements = simd::Vector<Element, words * index_t{sizeof(Element)}>;
  const std::uint64_t factor = multiples_of(salt).of_index;
  Hash<std::uint64_t> hash(salt);
  Vector64 indices;
  for (index_t i = 0; i < words; ++i) indices[i] = rows.first + static_cast<std::uint64_t>(i);
  Vector64 added = indices * factor;
  index_t j = 0;
  for (; j + words <= rows.n; j += words) {
    const auto elements = read<Elements>(rows.data + j * static_cast<index_t>(sizeof(Element)));
    if (rows.indices != nullptr)
      added = read<Vector64>(reinterpret_cast<const std::byte*>(rows.indices + j)) * factor;
    hash.add(__builtin_convertvector(elements, Vector64) + added);
    if (rows.indices == nullptr) added += words * factor;
  }
  for (; j < rows.n; ++j)
    hash.add(read<Element>(rows.data + j * static_cast<index_t>(sizeof(Element))) +
             index_of(rows, j) * factor);
  return hash.sum();
}

/// Returns the bytes after the last whole word of a row, padded with zeros.
[[gnu::always_inline]] inline std::uint64_t last_word(const std::byte* row, index_t bytes) {
  return bytes < 8 ? read<std::uint64_t>(row, bytes)
                   : read<std::uint64_t>(row + bytes - 8) >> (64 - 8 * (bytes % 8));
}

/// Calls f(added, words) for words 0, 1, ... of as many concurrent rows as a vector has lanes:
/// `added` is the multiple of the word's place, from `first` on.
template <class F>
[[gnu::always_inline]] inline void for_words_abreast(const std::byte* rows, index_t bytes,
                                                     std::uint64_t first, std::uint64_t of_place,
                                                     const F& f) {
  std::uint64_t added = first * of_place;
  Vector64 word{};
  index_t at = 0;
  for (; at + 8 <= bytes; at += 8, added += of_place) {
    for (index_t i = 0; i < words; ++i) word[i] = read<std::uint64_t>(rows + i * bytes + at);
    f(word, added);
  }
  if (at == bytes) return;
  for (index_t i = 0; i < words; ++i) word[i] = last_word(rows + i * bytes, bytes);
  f(word, added);
}
/// Calls f likewise for one row, from byte `at` on, at a whole word.
template <class F>
[[gnu::always_inline]] inline void for_words(const std::byte* row, index_t bytes, index_t at,
                                             std::uint64_t first, std::uint64_t of_place,
                                             const F& f) {
  std::uint64_t added = (first + static_cast<std::uint64_t>(at / 8)) * of_place;
  for (; at + 8 <= bytes; at += 8, added += of_place) f(read<std::uint64_t>(row + at), added);
  if (at < bytes) f(last_word(row, bytes), added);
}

/// Hashes any rows; the sums are those of hash_long_rows.
std::uint64_t hash_short_rows(const IndexedRows& rows, const Salt& salt) {
  const Multiples multiples = multiples_of(salt);
  Hash<std::uint64_t> hash(salt);
  index_t j = 0;
  for (; j + words <= rows.n; j += words) {
    Vector64 index{};
    for (index_t i = 0; i < words; ++i) index[i] = index_of(rows, j + i);
    const Vector64 of_rows = index * multiples.of_index;
    for_words_abreast(
        rows.data + j * rows.bytes, rows.bytes, 0, multiples.of_place,
        [&](const Vector64& word, std::uint64_t added) { hash.add(word + (of_rows + added)); });
  }
  for (; j < rows.n; ++j) {
    const std::uint64_t of_row = index_of(rows, j) * multiples.of_index;
    for_words(rows.data + j * rows.bytes, rows.bytes, 0, 0, multiples.of_place,
              [&](std::uint64_t word, std::uint64_t added) { hash.add(word + (of_row + added)); });
  }
  return hash.sum();
}

#if defined(__AVX512F__)
/// Hashes rows of at most `most_words` whole words: eight rows are as many vectors as a row has
/// words.
constexpr index_t most_words = 16;
std::uint64_t hash_rows_of_words(const IndexedRows& rows, const Salt& salt) {
  const Multiples multiples = multiples_of(salt);
  const index_t width = rows.bytes / 8;
  Hash<std::uint64_t> hash(salt);
  Vector64 row_of[most_words], place_of[most_words];  // of each lane of each vector
  // By vectors: lane by lane it took a third of the time of 16 KiB of rows.
  const auto length = static_cast<std::uint64_t>(width),
             inverse = (std::uint64_t{1} << 16) / length + 1;
  Vector64 number = {0, 1, 2, 3, 4, 5, 6, 7};  // of words
  for (index_t v = 0; v < width; ++v, number += words) {
    row_of[v] = number * inverse >> 16;  // number / length, of 128 words at most
    place_of[v] = (number - row_of[v] * length) * multiples.of_place;
  }
  Vector64 of_rows{};
  for (index_t i = 0; i < words; ++i)
    of_rows[i] = (rows.first + static_cast<std::uint64_t>(i)) * multiples.of_index;
  const std::byte* data = rows.data;
  index_t j = 0;
  for (; j + words <= rows.n; j += words, of_rows += words * multiples.of_index) {
    if (rows.indices != nullptr)
      of_rows =
          read<Vector64>(reinterpret_cast<const std::byte*>(rows.indices + j)) * multiples.of_index;
    for (index_t v = 0; v < width; ++v, data += vector_bytes) {
      const Vector64 of_lanes = simd::lookup(of_rows, row_of[v]);
      hash.add(read<Vector64>(data) + (of_lanes + place_of[v]));
    }
  }
  for (; j < rows.n; ++j) {
    const std::uint64_t of_row = index_of(rows, j) * multiples.of_index;
    for_words(rows.data + j * rows.bytes, rows.bytes, 0, 0, multiples.of_place,
              [&](std::uint64_t word, std::uint64_t added) { hash.add(word + (of_row + added)); });
  }
  return hash.sum();
}

/// Hashes rows of at least a vector, the last one of which is read in part.
std::uint64_t hash_long_rows(const IndexedRows& rows, const Salt& salt) {
  const Multiples multiples = multiples_of(salt);
  const index_t whole = rows.bytes / vector_bytes * vector_bytes, rest = rows.bytes - whole;
  Hash<std::uint64_t> hash(salt);
  Vector64 places{}, is_there{};
  for (index_t i = 0; i < words; ++i) {
    places[i] = static_cast<std::uint64_t>(i) * multiples.of_place;
    is_there[i] = 8 * i < rest ? ~std::uint64_t{0} : 0;
  }
  for (index_t j = 0; j < rows.n; ++j) {
    const std::byte* const row = rows.data + j * rows.bytes;
    Vector64 added = places + index_of(rows, j) * multiples.of_index;
    for (index_t b = 0; b < whole; b += vector_bytes, added += words * multiples.of_place)
      hash.add(read<Vector64>(row + b) + added);
    if (rest > 0) {
      const auto last = simd::load_bytes<Vector64>(row + whole, rest);
      hash.add(last + added, is_there);
    }
  }
  return hash.sum();
}
#else
/// Hashes rows of at least a vector. The remaining words are read together with some already seen,
/// whose hashes are dropped.
std::uint64_t hash_long_rows(const IndexedRows& rows, const Salt& salt) {
  const Multiples multiples = multiples_of(salt);
  const index_t all = rows.bytes / 8, seen = all / words * words;
  Hash<std::uint64_t> hash(salt);
  Vector64 places, last_places, is_new;
  for (index_t i = 0; i < words; ++i) {
    const index_t last = all - words + i;
    places[i] = static_cast<std::uint64_t>(i) * multiples.of_place;
    last_places[i] = static_cast<std::uint64_t>(last) * multiples.of_place;
    is_new[i] = last >= seen ? ~std::uint64_t{0} : 0;
  }
  for (index_t j = 0; j < rows.n; ++j) {
    const std::byte* const row = rows.data + j * rows.bytes;
    const std::uint64_t of_row = index_of(rows, j) * multiples.of_index;
    Vector64 added = places + of_row;
    for (index_t w = 0; w < seen; w += words, added += words * multiples.of_place)
      hash.add(read<Vector64>(row + 8 * w) + added);
    if (seen < all)
      hash.add(read<Vector64>(row + 8 * (all - words)) + (last_places + of_row), is_new);
    if (rows.bytes % 8 != 0)
      hash.add(last_word(row, rows.bytes) +
               (of_row + static_cast<std::uint64_t>(all) * multiples.of_place));
  }
  return hash.sum();
}
#endif

/// Adds the hashes of rows of one word, many at a time.
template <class Element>
void add_elements(const IndexedRows& rows, const Salt& salt, std::uint64_t* sums) {
  using Elements = simd::Vector<Element, words * index_t{sizeof(Element)}>;
  const Hash<std::uint64_t> hash(salt);
  const std::uint64_t added = rows.first * multiples_of(salt).of_place;
  index_t j = 0;
  for (; j + words <= rows.n; j += words) {
    const auto elements = read<Elements>(rows.data + j * static_cast<index_t>(sizeof(Element)));
    const Vector64 sum = read<Vector64>(reinterpret_cast<const std::byte*>(sums + j)) +
                         hash(__builtin_convertvector(elements, Vector64) + added);
    __builtin_memcpy(sums + j, &sum, sizeof(sum));
  }
  for (; j < rows.n; ++j)
    sums[j] += hash(read<Element>(rows.data + j * static_cast<index_t>(sizeof(Element))) + added);
}

/// Adds the hashes of any rows; the sums are those of add_long_rows.
void add_short_rows(const IndexedRows& rows, const Salt& salt, std::uint64_t* sums) {
  const std::uint64_t of_place = multiples_of(salt).of_place;
  const Hash<std::uint64_t> hash(salt);
  index_t j = 0;
  for (; j + words <= rows.n; j += words) {
    auto sum = read<Vector64>(reinterpret_cast<const std::byte*>(sums + j));
    for_words_abreast(
        rows.data + j * rows.bytes, rows.bytes, rows.first, of_place,
        [&](const Vector64& word, std::uint64_t added) { sum += hash(word + added); });
    __builtin_memcpy(sums + j, &sum, sizeof(sum));
  }
  for (; j < rows.n; ++j) {
    for_words(rows.data + j * rows.bytes, rows.bytes, 0, rows.first, of_place,
              [&](std::uint64_t word, std::uint64_t added) { sums[j] += hash(word + added); });
  }
}

/// Adds the hashes of rows of at least a vector.
void add_long_rows(const IndexedRows& rows, const Salt& salt, std::uint64_t* sums) {
  const std::uint64_t of_place = multiples_of(salt).of_place;
  const Hash<std::uint64_t> hash(salt);
  const index_t vectors = rows.bytes / vector_bytes;
  Vector64 places{};
  for (index_t i = 0; i < words; ++i)
    places[i] = (rows.first + static_cast<std::uint64_t>(i)) * of_place;
  for (index_t j = 0; j < rows.n; ++j) {
    const std::byte* const row = rows.data + j * rows.bytes;
    Vector64 many{}, added = places;
    for (index_t v = 0; v < vectors; ++v, added += words * of_place)
      many += hash(read<Vector64>(row + v * vector_bytes) + added);
    std::uint64_t sum = simd::sum(many);
    for_words(row, rows.bytes, vectors * vector_bytes, rows.first, of_place,
              [&](std::uint64_t word, std::uint64_t place) { sum += hash(word + place); });
    sums[j] += sum;
  }
}

}  // namespace

void add_row_hashes(const IndexedRows& rows, const Salt& salt, std::uint64_t* sums) {
  switch (rows.bytes) {
    case 1:
      return add_elements<std::uint8_t>(rows, salt, sums);
    case 2:
      return add_elements<std::uint16_t>(rows, salt, sums);
    case 4:
      return add_elements<std::uint32_t>(rows, salt, sums);
    case 8:
      return add_elements<std::uint64_t>(rows, salt, sums);
    default:
      return rows.bytes < 2 * vector_bytes ? add_short_rows(rows, salt, sums)
                                           : add_long_rows(rows, salt, sums);
  }
}

std::uint64_t hash_indexed(const IndexedRows& rows, const Salt& salt) {
  switch (rows.bytes) {
    case 0:  // a column of shape (n, 0)
      return 0;
    case 1:
      return hash_elements<std::uint8_t>(rows, salt);
    case 2:
      return hash_elements<std::uint16_t>(rows, salt);
    case 4:
      return hash_elements<std::uint32_t>(rows, salt);
    case 8:
      return hash_elements<std::uint64_t>(rows, salt);
    default:
#if defined(__AVX512F__)
      if (rows.bytes % 8 == 0 && rows.bytes != vector_bytes && rows.bytes <= 8 * most_words)
        return hash_rows_of_words(rows, salt);
#endif
      return rows.bytes < vector_bytes ? hash_short_rows(rows, salt) : hash_long_rows(rows, salt);
  }
}

}  // namespace tessera::inline v1::sort::TESSERA_ISA
