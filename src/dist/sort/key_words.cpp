// Keys as words, and packing of their varying bits into digits of up to 64 bits.

#include "dist/sort/key_words.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>

#include "dist/sort/grain.hpp"
#include "kernels/sort/verify.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::dist::sort {
namespace {

/// Returns the first `bytes` of a string (at most 8) as a big-endian number, padded with zeros.
std::uint64_t big_endian(const std::byte* string, index_t bytes) {
  std::uint64_t word = 0;
  if (bytes == 8 && std::endian::native == std::endian::little) {
    std::memcpy(&word, string, 8);
    return __builtin_bswap64(word);
  }
  for (index_t b = 0; b < bytes; ++b)
    word |= std::to_integer<std::uint64_t>(string[b]) << (56 - 8 * b);
  return word;
}

struct WordExtent {
  std::uint64_t least = ~std::uint64_t{0}, most = 0;
};

WordExtent extent_of(const std::uint64_t* words, index_t n, int threads) {
  WordExtent all;
  std::mutex mutex;
  machine::parallel(threads, [&] {
    machine::parallel_for(0, n, grain, [&](index_t begin, index_t end) {
      WordExtent some;
      for (index_t j = begin; j < end; ++j) {
        some.least = std::min(some.least, words[j]);
        some.most = std::max(some.most, words[j]);
      }
      const std::lock_guard lock(mutex);
      all = {std::min(all.least, some.least), std::max(all.most, some.most)};
    });
  });
  return all;
}

/// Calls f(Type<T>{}), T being the type of the numbers in memory.
template <class F>
void dispatch_stored(const KeyForm& form, const F& f) {
  const Element number = *form.number;
  const bool is_byte = form.bytes == 1;
  if (form.bytes == static_cast<index_t>(bytes(number))) return dispatch_element(number, f);
  if (number == Element::f32) return f(Type<Half>{});
  if (number == Element::i32) return is_byte ? f(Type<std::int8_t>{}) : f(Type<std::int16_t>{});
  return is_byte ? f(Type<std::uint8_t>{}) : f(Type<std::uint16_t>{});
}

/// Returns the word of the number at `from`.
template <class T, class Map>
std::uint64_t word_at(const std::byte* from, const Map& map, Equality equality) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return number_bits(tessera::sort::widened(value), map, equality);
}

std::uint64_t flip_of(const KeyColumn& strings) {
  return tessera::sort::is_descending(strings.order) ? ~std::uint64_t{0} : 0;
}

}  // namespace

std::vector<KeyColumn> by_number(std::vector<KeyColumn> columns) {
  for (KeyColumn& column : columns) column.form = column.form.by_number();
  return columns;
}

void key_word(const KeyColumn& column, index_t word, layout::Range rows, std::uint64_t* bits) {
  const index_t step = column.step(), n = rows.size();
  const std::byte* const first = column.data + rows.begin * step;
  if (column.form.number) {
    dispatch_stored(column.form, [&]<class T>(Type<T>) {
      const auto map = tessera::sort::key_map<tessera::sort::ComparedAs<T>>(column.order);
      if constexpr (tessera::sort::SmallKey<T>) {
        for (index_t j = 0; j < n; ++j)
          bits[j] = word_at<T>(first + j * step, map, column.form.equality);
      } else {
        tessera::sort::words_of_numbers({first, step}, n, map, column.form.equality, bits);
      }
    });
  } else {
    tessera::sort::words_of_strings({first + 8 * word, step}, n,
                                    std::min<index_t>(8, column.form.bytes - 8 * word),
                                    flip_of(column), bits);
  }
}

void key_word(const KeyColumn& column, index_t word, std::span<const std::uint64_t> places,
              std::uint64_t* bits) {
  const index_t step = column.step();
  if (column.form.number) {
    dispatch_stored(column.form, [&]<class T>(Type<T>) {
      const auto map = tessera::sort::key_map<tessera::sort::ComparedAs<T>>(column.order);
      for (const std::uint64_t place : places)
        *bits++ =
            word_at<T>(column.data + static_cast<index_t>(place) * step, map, column.form.equality);
    });
    return;
  }
  const std::uint64_t flip = flip_of(column);
  const index_t some = std::min<index_t>(8, column.form.bytes - 8 * word);
  const std::byte* const first = column.data + 8 * word;
  for (const std::uint64_t place : places)
    *bits++ = flip ^ big_endian(first + static_cast<index_t>(place) * step, some);
}

void key_word(const KeyColumn& column, index_t word, index_t n, std::uint64_t* bits, int threads) {
  machine::parallel(threads, [&] {
    machine::parallel_for(0, n, grain, [&](index_t begin, index_t end) {
      key_word(column, word, {begin, end}, bits + begin);
    });
  });
}

std::vector<KeyDigit> pack_keys(const mpi::Communicator& comm,
                                const std::vector<KeyColumn>& columns, index_t n, int threads) {
  machine::Buffer<std::uint64_t> words(n);
  std::vector<KeyPart> parts;
  std::vector<std::uint64_t> extents;  // minimum and maximum of each part
  for (std::size_t c = 0; c < columns.size(); ++c) {
    for (index_t w = 0; w < columns[c].form.words(); ++w) {
      key_word(columns[c], w, n, words.data(), threads);
      const WordExtent mine = extent_of(words.data(), n, threads);
      parts.push_back({.column = c, .word = w});
      extents.insert(extents.end(), {mine.least, mine.most});
    }
  }
  const auto all = comm.all_gather(std::span<const std::uint64_t>(extents));
  std::vector<KeyDigit> digits;
  int room = 0;  // bits left in the current digit
  for (std::size_t p = 0; p < parts.size(); ++p) {
    WordExtent extent;
    for (std::size_t at = 2 * p; at < all.size(); at += extents.size())
      extent = {std::min(extent.least, all[at]), std::max(extent.most, all[at + 1])};
    if (extent.least >= extent.most) continue;
    parts[p].least = extent.least;
    parts[p].bits = tessera::sort::bit_length(extent.most - extent.least);
    if (parts[p].bits > room) {
      digits.emplace_back();
      room = 64;
    }
    room -= parts[p].bits;
    digits.back().push_back(parts[p]);
  }
  return digits;
}

void key_digit(const std::vector<KeyColumn>& columns, const KeyDigit& digit, layout::Range rows,
               std::uint64_t* digits, std::uint64_t* scratch) {
  for (std::size_t p = 0; p < digit.size(); ++p) {
    const KeyPart& part = digit[p];
    key_word(columns[part.column], part.word, rows, p == 0 ? digits : scratch);
    for (index_t j = 0; j < rows.size(); ++j)
      digits[j] =
          p == 0 ? digits[j] - part.least : digits[j] << part.bits | (scratch[j] - part.least);
  }
}

void key_digit(const std::vector<KeyColumn>& columns, const KeyDigit& digit, index_t n,
               std::uint64_t* digits, std::uint64_t* scratch, int threads) {
  machine::parallel(threads, [&] {
    machine::parallel_for(0, n, grain, [&](index_t begin, index_t end) {
      key_digit(columns, digit, {begin, end}, digits + begin, scratch + begin);
    });
  });
}

}  // namespace tessera::inline v1::dist::sort
