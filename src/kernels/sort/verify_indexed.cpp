// The hash of rows with their indices, compiled once for each instruction set. A word of a row is hashed as a
// key is, after a multiple of the row's index and one of the word's place in it were added.

#include "kernels/sort/verify_vectors.hpp"

namespace tessera::sort::TESSERA_ISA {
namespace {

constexpr index_t words = lanes<std::uint64_t>;

struct Multiples {
  std::uint64_t of_index, of_place;  // odd
};
/// Other multiples than the hash's own factor.
[[gnu::always_inline]] inline Multiples multiples_of(const Salt& salt) {
  return {((salt.flip << 32 | salt.flip >> 32) ^ salt.factor) | 1,
          (salt.factor << 32 | salt.factor >> 32 | 1) + (salt.flip << 1)};
}

/// `bytes` of them from any address on, the others 0.
template <class Word>
[[gnu::always_inline]] inline Word read(const std::byte* from, index_t bytes = sizeof(Word)) {
  Word word{};
  __builtin_memcpy(&word, from, static_cast<std::size_t>(bytes));
  return word;
}

[[gnu::always_inline]] inline std::uint64_t index_of(const IndexedRows& rows, index_t j) {
  return rows.indices != nullptr ? rows.indices[j] : rows.first + static_cast<std::uint64_t>(j);
}

/// Rows of one word, which has `Element` as its lower bits.
template <class Element>
std::uint64_t hash_elements(const IndexedRows& rows, const Salt& salt) {
  typedef Element Elements __attribute__((vector_size(words * sizeof(Element))));
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

/// The bytes behind the last whole word of a row, as the word that ends with it, or all there are.
[[gnu::always_inline]] inline std::uint64_t last_word(const std::byte* row, index_t bytes) {
  return bytes < 8 ? read<std::uint64_t>(row, bytes) : read<std::uint64_t>(row + bytes - 8);
}

/// Any rows, word by word; the sums are those of hash_long_rows.
std::uint64_t hash_short_rows(const IndexedRows& rows, const Salt& salt) {
  const Multiples multiples = multiples_of(salt);
  Hash<std::uint64_t> hash(salt);
  for (index_t j = 0; j < rows.n; ++j) {
    const std::byte* const row = rows.data + j * rows.bytes;
    std::uint64_t added = index_of(rows, j) * multiples.of_index;
    for (index_t at = 0; at + 8 <= rows.bytes; at += 8, added += multiples.of_place)
      hash.add(read<std::uint64_t>(row + at) + added);
    if (rows.bytes % 8 != 0) hash.add(last_word(row, rows.bytes) + added);
  }
  return hash.sum();
}

/// Rows of at least a vector. What is left of the words is looked at with some that were seen already, whose
/// hashes are dropped.
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
    if (seen < all) hash.add(read<Vector64>(row + 8 * (all - words)) + (last_places + of_row), is_new);
    if (rows.bytes % 8 != 0)
      hash.add(last_word(row, rows.bytes) + (of_row + static_cast<std::uint64_t>(all) * multiples.of_place));
  }
  return hash.sum();
}

/// Rows of one word: many at a time.
template <class Element>
void add_elements(const IndexedRows& rows, const Salt& salt, std::uint64_t* sums) {
  typedef Element Elements __attribute__((vector_size(words * sizeof(Element))));
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

void add_rows(const IndexedRows& rows, const Salt& salt, std::uint64_t* sums) {
  const std::uint64_t of_place = multiples_of(salt).of_place;
  const Hash<std::uint64_t> hash(salt);
  const index_t all = rows.bytes / 8, vectors = all / words * words;
  Vector64 places;
  for (index_t i = 0; i < words; ++i) places[i] = (rows.first + static_cast<std::uint64_t>(i)) * of_place;
  for (index_t j = 0; j < rows.n; ++j) {
    const std::byte* const row = rows.data + j * rows.bytes;
    std::uint64_t sum = 0;
    if (vectors > 0) {
      Vector64 many{}, added = places;
      for (index_t w = 0; w < vectors; w += words, added += words * of_place)
        many += hash(read<Vector64>(row + 8 * w) + added);
      for (index_t i = 0; i < words; ++i) sum += many[i];
    }
    std::uint64_t added = (rows.first + static_cast<std::uint64_t>(vectors)) * of_place;
    for (index_t w = vectors; w < all; ++w, added += of_place)
      sum += hash(read<std::uint64_t>(row + 8 * w) + added);
    if (rows.bytes % 8 != 0) sum += hash(last_word(row, rows.bytes) + added);
    sums[j] += sum;
  }
}

}  // namespace

void add_row_hashes(const IndexedRows& rows, const Salt& salt, std::uint64_t* sums) {
  if (rows.bytes == 8)
    add_elements<std::uint64_t>(rows, salt, sums);
  else if (rows.bytes == 4)
    add_elements<std::uint32_t>(rows, salt, sums);
  else
    add_rows(rows, salt, sums);
}

std::uint64_t hash_indexed(const IndexedRows& rows, const Salt& salt) {
  if (rows.bytes == 8) return hash_elements<std::uint64_t>(rows, salt);
  if (rows.bytes == 4) return hash_elements<std::uint32_t>(rows, salt);
  return rows.bytes >= vector_bytes ? hash_long_rows(rows, salt) : hash_short_rows(rows, salt);
}

}  // namespace tessera::sort::TESSERA_ISA
